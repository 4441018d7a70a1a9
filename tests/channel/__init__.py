"""An offline conda channel of real ``.conda`` packages, made of the running interpreter and wheels.

``python -m tests.channel OUT`` writes two channel folders: ``OUT/conda-forge`` and ``OUT/other``. Pointing conda's
``channel_alias`` at OUT replaces conda-forge the way a mirror does.
"""
