"""A torch tensor, on the CPU without a copy, or from a GPU: the candidates of a search by loss, latency and size."""
# Needs: torch

import skyrank
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(3)
trials = torch.rand(100_000, 3, device=device)

# SkyRank reads memory of the CPU through DLPack; its engine brings columns to a GPU itself where that pays.
front = skyrank.skyline(trials.cpu(), columns=["loss", "latency", "size"])

# Row ids index the tensor where it is.
best = trials[torch.from_numpy(front.rows.copy()).to(device)]
print(f"{len(best)} of {len(trials):,} trials are on the front, on {best.device}; lowest loss {best[:, 0].min():.4f}")
