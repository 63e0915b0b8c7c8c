from askance.engines.spark.engine import SparkEngine as SparkEngine
