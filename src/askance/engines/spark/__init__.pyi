from askance.engines.spark.engine import SparkEngine as SparkEngine
from askance.engines.spark.rows import spark_release as spark_release
