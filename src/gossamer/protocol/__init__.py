"""One file a protocol: its Params, its moves as row kernels, and no more."""
