"""SentEval's classifier and protocols a second time: one network after another, in plain loops over `nn.Module`."""

import copy

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import nn

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)


class Classifier:
    """One network, trained as SentEval's `fit` does."""

    def __init__(
        self, inputs, classes, decay, seed, hidden=50, rate=1e-3, tenacity=5, epoch_size=4, max_epoch=200, batch=64
    ):
        self.random = np.random.RandomState(seed)
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(inputs, hidden), nn.Dropout(0.0), nn.Sigmoid(), nn.Linear(hidden, classes))
        self.tenacity, self.epoch_size, self.max_epoch, self.batch = tenacity, epoch_size, max_epoch, batch
        self.decay, self.rate = decay, rate
        self.evaluations, self.passes = 0, 0

    def fit(self, x, y, dev=None, validation=None):
        if dev is None:
            order = self.random.permutation(len(x))
            cut = int(validation * len(x))
            dev, x, y = (x[order[:cut]], y[order[:cut]]), x[order[cut:]], y[order[cut:]]
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        self.model.to(x.dtype)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.rate, weight_decay=self.decay)
        best, stop, count = -1.0, False, 0
        while not stop and self.passes <= self.max_epoch:
            for _ in range(self.epoch_size):
                order = self.random.permutation(len(x))
                for start in range(0, len(x), self.batch):
                    rows = torch.from_numpy(order[start : start + self.batch])
                    loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            self.passes += self.epoch_size
            self.evaluations += 1
            accuracy = self.score(*dev)
            if accuracy > best:
                best, kept = accuracy, copy.deepcopy(self.model)
            else:
                if count >= self.tenacity:
                    stop = True
                count += 1
        self.model = kept
        return best

    @torch.no_grad()
    def predict(self, x):
        return self.model(torch.from_numpy(x)).argmax(1).numpy()

    def score(self, x, y):
        return 1.0 * (self.predict(x) == y).sum() / len(y)


def nested(x, y, classes, seed, **settings):
    found = np.empty(len(y), dtype=int)
    for train, test in StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y):
        decay = chosen(x[train], y[train], classes, seed, 1111, **settings)
        last = Classifier(x.shape[1], classes, decay, seed, **settings)
        last.fit(x[train], y[train], validation=0.05)
        found[test] = last.predict(x[test])
    return found


def train_and_test(x, y, test, classes, seed, **settings):
    last = Classifier(x.shape[1], classes, chosen(x, y, classes, seed, seed, **settings), seed, **settings)
    last.fit(x, y, validation=0.05)
    return last.predict(test)


def fixed_split(x, y, dev, test, classes, seed, **settings):
    models = [Classifier(x.shape[1], classes, decay, seed, **settings) for decay in DECAYS]
    scores = [round(100 * model.fit(x, y, dev), 2) for model in models]
    last = Classifier(x.shape[1], classes, DECAYS[int(np.argmax(scores))], seed, **settings)
    last.fit(x, y, dev)
    return last.predict(test)


def chosen(x, y, classes, seed, fold_seed, **settings):
    scores = []
    for decay in DECAYS:
        of_folds = []
        for train, held in StratifiedKFold(10, shuffle=True, random_state=fold_seed).split(x, y):
            model = Classifier(x.shape[1], classes, decay, seed, **settings)
            of_folds.append(model.fit(x[train], y[train], (x[held], y[held])))
        scores.append(round(100 * np.mean(of_folds), 2))
    return DECAYS[int(np.argmax(scores))]
