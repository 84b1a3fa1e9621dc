"""The errors that users may catch: each is a StrataError, whose message says what is allowed and the next step."""

from explorer.errors import *  # noqa: F403
