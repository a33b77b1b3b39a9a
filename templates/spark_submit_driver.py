"""What `spark-submit` and Spark jobs of platforms start: the driver, on the Spark that they give it.

    spark-submit --packages io.delta:delta-spark_4.2_2.13:4.4.0 spark_submit_driver.py \\
        --registry contracts/_registry.yaml --layers bronze,silver,gold --window last_success
"""

from lakelogic.cli.program import driver

if __name__ == "__main__":
    driver()
