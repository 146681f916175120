import DaemonConfiguration
import Testing

extension ConfigurationProblemTests {
    /// Problems of what is recorded and exported.
    static let rowsOfObservability: [Row] = [
        Row(
            "bad values of observability, all at once",
            """
            children: []
            observability:
              traces: { file: ~/traces, sample: 2 }
              metrics: { endpoint: "https://collector", interval: 1ms }
            """,
            "f:3:19: `file` is `~/traces`, and no shell replaces `~` here; expected the path written out",
            "f:3:37: `sample` is the number 2; expected a number from 0.0 to 1.0",
            "f:4:24: `endpoint` is `https://collector`: the endpoint is https, which isn't spoken here; "
                + "expected http://HOST[:PORT][/PATH], such as http://127.0.0.1:4318",
            "f:4:55: `interval` is less than 100ms; expected a longer time"
        ),
        Row(
            "traces that go nowhere",
            "children: []\nobservability: { traces: { sample: 0.5 } }\n",
            "f:2:26: `traces` has neither `file` nor `endpoint`; expected one of them"
        ),
        Row(
            "two places",
            "children: []\nobservability: { metrics: { file: a, endpoint: 'http://b' } }\n",
            "f:2:35: `metrics` has both `file` and `endpoint`; expected one of them"
        ),
        Row(
            "an unknown key",
            "children: []\nobservability: { trace: {} }\n",
            "f:2:18: unknown key `trace` in `observability`; did you mean `traces`?"
        ),
    ]

    @Test("What is recorded, and where it goes")
    func observability() throws {
        let text = """
            children: []
            observability:
              traces: { endpoint: "http://127.0.0.1:4318", sample: 0.25 }
              metrics: { file: /var/log/metrics.jsonl, interval: 10s }
            """
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        let traces = ObservabilityConfiguration.Traces(destination: .endpoint("http://127.0.0.1:4318"), sample: 0.25)
        #expect(configuration.observability.traces == traces)
        #expect(configuration.observability.metrics?.destination == .file("/var/log/metrics.jsonl"))
        #expect(configuration.observability.metrics?.interval == .seconds(10))
        let counting = try DaemonConfiguration.parse(text: "children: []\nobservability: { metrics: {} }", file: "f")
        #expect(counting.observability.metrics == ObservabilityConfiguration.Metrics() && counting.observability.traces == nil)
        let nothing = try DaemonConfiguration.parse(text: "children: []", file: "f")
        #expect(nothing.observability == ObservabilityConfiguration())
    }
}
