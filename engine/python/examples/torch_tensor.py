"""A torch tensor, read where it lies, on the CPU or a GPU: the candidates of a search by loss, latency and size."""
# Needs: torch

import skyrank
import torch


def find_device():
    """Returns the GPU if both libraries have one: SkyRank does where it was built with CUDA."""
    try:
        skyrank.Engine(device="cuda")
    except skyrank.DeviceError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


device = find_device()
torch.manual_seed(3)
trials = torch.rand(100_000, 3, device=device)

# SkyRank takes the tensor through DLPack, without a copy, and waits for what torch still has to do with it.
front = skyrank.skyline(trials, columns=["loss", "latency", "size"])

# Row ids index the tensor where it is.
best = trials[torch.from_numpy(front.rows.copy()).to(device)]
print(f"{len(best)} of {len(trials):,} trials are on the front, on {best.device}; lowest loss {best[:, 0].min():.4f}")
