#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python peer of audit_cpu: tuning events to audit rows, exactly-once.

  audit_consumer.py BROKERS EVENTS

Prints `cpu_ms N wall_ms N`, from the first record to the last commit. It derives what
heddle-audit derives by the same rules (gen_tuning.py) and keeps no state for the join.
"""
import io
import json
import os
import pathlib
import sys
import time

import confluent_kafka
import fastavro

import gen_tuning as model

BATCH_RECORDS = 5000
BATCH_SECONDS = 0.2
SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "schemas"


def schema(name):
    text = json.loads((SCHEMAS / (name + ".avsc")).read_text())
    canonical = fastavro.schema.to_parsing_canonical_form(text)
    fingerprint = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
    return fastavro.parse_schema(text), b"\xc3\x01" + bytes.fromhex(fingerprint)


EVENT, _ = schema("tuning_event")
ROW, ROW_HEADER = schema("audit_row")


def text_of(value):
    return value if isinstance(value, str) else None


def number_of(value):
    return float(value) if isinstance(value, (int, float)) else None


def tuner_of(entry):
    out = {}
    for field in TUNER_FIELDS:
        value = entry.get(field["name"])
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        if "string" in kinds:
            value = text_of(value)
        elif "double" in kinds:
            value = number_of(value)
        elif "boolean" in kinds:
            value = value if isinstance(value, bool) else None
        elif "int" in kinds or "long" in kinds:
            value = value if isinstance(value, int) else None
        if value is None and "null" not in kinds:
            value = {"string": "", "double": 0.0, "boolean": False}.get(kinds[0], 0)
        out[field["name"]] = value
    return out


def fields_of(schema, name):
    for field in schema["fields"]:
        if field["name"] == name:
            return field["type"]["items"]["fields"]
    raise KeyError(name)


TUNER_FIELDS = fields_of(ROW, "tuners")
PROVENANCE = next(f["type"] for f in ROW["fields"] if f["name"] == "provenance")


def empty(kind):
    if isinstance(kind, list):
        return None if "null" in kind else empty(kind[0])
    if isinstance(kind, dict):
        if kind["type"] == "record":
            return {f["name"]: empty(f["type"]) for f in kind["fields"]}
        if kind["type"] == "array":
            return []
        if kind["type"] == "map":
            return {}
        if kind["type"] == "fixed":
            return bytes(kind["size"])
        if kind["type"] == "enum":
            return kind["symbols"][0]
        return empty(kind["type"])
    return {"string": "", "bytes": b"", "boolean": False, "double": 0.0}.get(kind, 0)


def encode(event, derived):
    row, x = derived["row"], derived["x"]
    record = {f["name"]: text_of(row.get(f["name"])) for f in ROW["fields"]}
    record.update(
        run_key=x["run_key"],
        row=model.dumps(row).encode(),
        x=model.dumps(x).encode(),
        trace=event["trace"],
        best_speedup=number_of(row.get("best_speedup")),
        tuners=[tuner_of(t) for t in row.get("tuners_run") or [] if isinstance(t, dict)],
        origin=event["origin"],
        provenance=empty(PROVENANCE),
    )
    out = io.BytesIO()
    out.write(ROW_HEADER)
    fastavro.schemaless_writer(out, ROW, record)
    return out.getvalue()


def handle(message):
    event = fastavro.schemaless_reader(io.BytesIO(message.value()[10:]), EVENT)
    logs = {part["tuner"]: part["payload"].decode() for part in event["logs"]}
    derived = model.derive(event["result"], event["origin"]["captured_at_us"], logs)
    return derived["x"]["run_key"].encode(), encode(event, derived)


def main(brokers, events):
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": brokers, "group.id": "bench-python",
        "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "isolation.level": "read_committed", "session.timeout.ms": 6000,
    })
    producer = confluent_kafka.Producer({
        "bootstrap.servers": brokers, "transactional.id": "bench-python",
        "compression.codec": "zstd", "linger.ms": 20,
    })
    producer.init_transactions(60)
    consumer.subscribe(["heddle.tunings"])
    done = in_batch = 0
    begun = batch = cpu = None
    while done < events:
        messages = consumer.consume(500, 0.1)
        if messages and begun is None:
            begun, cpu = time.perf_counter(), time.process_time()
        for message in messages:
            if in_batch == 0:
                producer.begin_transaction()
                batch = time.perf_counter()
            key, value = handle(message)
            producer.produce("heddle.audit.tunings", value, key)
            producer.poll(0)
            done += 1
            in_batch += 1
        if in_batch and (in_batch >= BATCH_RECORDS or done >= events
                         or time.perf_counter() - batch >= BATCH_SECONDS):
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
            producer.commit_transaction()
            in_batch = 0
    print("cpu_ms", (time.process_time() - cpu) * 1000, "wall_ms",
          (time.perf_counter() - begun) * 1000, flush=True)
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
