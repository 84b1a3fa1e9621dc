"""Workers: processes and jobs of a cluster that train runs for this process, which watches their folders."""
