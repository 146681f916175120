"""Reads requests in OTLP/JSON, one a line, with OpenTelemetry's own Protobuf definitions, and prints what is in them as JSON.

Usage: otlp.py traces|metrics FILE

Protobuf's JSON has bytes in base64, and would take an identifier in hexadecimal for that: 32 digits become 24 bytes. So the identifiers are
checked as texts first, and put into the form that the parser knows. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""
import base64
import json
import re
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

LENGTHS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def rewrite(value):
    if isinstance(value, list):
        return [rewrite(element) for element in value]
    if not isinstance(value, dict):
        return value
    for name, length in LENGTHS.items():
        if name in value:
            digits = value[name]
            if not re.fullmatch(f"[0-9a-f]{{{length}}}", digits) or int(digits, 16) == 0:
                sys.exit(f"{name} is {digits!r}: not {length} hexadecimal digits")
    return {
        name: base64.b64encode(bytes.fromhex(element)).decode() if name in LENGTHS else rewrite(element)
        for name, element in value.items()
    }


def attributes(message):
    result = {}
    for attribute in message.attributes:
        kind = attribute.value.WhichOneof("value")
        result[attribute.key] = getattr(attribute.value, kind)
    return result


def spans(request):
    for resource in request.resource_spans:
        about = attributes(resource.resource)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield dict(
                    trace=span.trace_id.hex(),
                    span=span.span_id.hex(),
                    parent=span.parent_span_id.hex() or None,
                    name=span.name,
                    kind=type(span).SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
                    service=about["service.name"],
                    process=about["process.pid"],
                    nanoseconds=span.end_time_unix_nano - span.start_time_unix_nano,
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    path=attributes(span)["coordinator.path"],
                )


def points(request):
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    about = attributes(point)
                    yield dict(
                        metric=metric.name,
                        unit=metric.unit,
                        kind=kind,
                        path=about.get("coordinator.path"),
                        message=about.get("rpc.method"),
                        count=point.count if kind == "histogram" else point.as_int,
                        sum=point.sum if kind == "histogram" else None,
                        buckets=list(point.bucket_counts) if kind == "histogram" else [],
                        bounds=len(point.explicit_bounds) if kind == "histogram" else 0,
                    )


kind, file = sys.argv[1:]
request, read = (ExportTraceServiceRequest, spans) if kind == "traces" else (ExportMetricsServiceRequest, points)
found = []
for line in open(file):
    # Unknown fields are errors.
    found += read(json_format.Parse(json.dumps(rewrite(json.loads(line))), request()))
print(json.dumps(found))
