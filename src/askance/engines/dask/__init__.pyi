from askance.engines.dask.engine import DaskEngine as DaskEngine
