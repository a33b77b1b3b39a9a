{
  "run_id": "20261116T113738-7c2692dc",
  "status": "refused",
  "written_at": "2026-11-16T11:37:38.965+00:00",
  "metrics": [
    {
      "name": "lakelogic_pipeline_info",
      "type": "gauge",
      "help": "The pipeline run that the other numbers are of; always 1.",
      "samples": [
        {
          "labels": {
            "run_id": "20261116T113738-7c2692dc",
            "status": "refused",
            "version": "0.1.0"
          },
          "value": 1
        }
      ]
    },
    {
      "name": "lakelogic_pipeline_running",
      "type": "gauge",
      "help": "1 while the pipeline runs, else 0.",
      "samples": [
        {
          "labels": {},
          "value": 0.0
        }
      ]
    },
    {
      "name": "lakelogic_pipeline_started_timestamp_seconds",
      "type": "gauge",
      "help": "When the pipeline began, in seconds since 1970.",
      "samples": [
        {
          "labels": {},
          "value": 1794829058.965634
        }
      ]
    },
    {
      "name": "lakelogic_pipeline_duration_seconds",
      "type": "gauge",
      "help": "How long the pipeline took or has run.",
      "samples": [
        {
          "labels": {},
          "value": 0.0
        }
      ]
    },
    {
      "name": "lakelogic_contracts",
      "type": "gauge",
      "help": "Contracts of the pipeline by status.",
      "samples": [
        {
          "labels": {
            "status": "succeeded"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "no_new_data"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "gate_failed"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "failed"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "skipped"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "interrupted"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "waiting"
          },
          "value": 0
        },
        {
          "labels": {
            "status": "running"
          },
          "value": 0
        }
      ]
    },
    {
      "name": "lakelogic_runs",
      "type": "gauge",
      "help": "Runs of a contract: one for each window.",
      "samples": []
    },
    {
      "name": "lakelogic_rows_read",
      "type": "gauge",
      "help": "Rows that a contract read.",
      "samples": []
    },
    {
      "name": "lakelogic_rows_accepted",
      "type": "gauge",
      "help": "Rows that passed.",
      "samples": []
    },
    {
      "name": "lakelogic_rows_quarantined",
      "type": "gauge",
      "help": "Rows that failed.",
      "samples": []
    },
    {
      "name": "lakelogic_quarantine_ratio",
      "type": "gauge",
      "help": "Rows that failed, of those that were read (0 to 1).",
      "samples": []
    },
    {
      "name": "lakelogic_contract_duration_seconds",
      "type": "gauge",
      "help": "How long a contract took, or has run so far.",
      "samples": []
    },
    {
      "name": "lakelogic_last_success_timestamp_seconds",
      "type": "gauge",
      "help": "When a contract last ended well, in seconds since 1970.",
      "samples": []
    },
    {
      "name": "lakelogic_freshness_seconds",
      "type": "gauge",
      "help": "Seconds since a contract last ended well.",
      "samples": []
    }
  ]
}
