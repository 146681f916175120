import ConcurrencySupport
import Foundation
import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import Coordinators

/// Everything that reads what others have written × extreme values: nothing traps, and what is read can be used.
@Suite("What others have written", .timeLimit(.minutes(2)))
struct DecoderTests {
    @Test("Each part of an input can be extreme", arguments: Reader.all)
    func extremes(_ reader: Reader) throws {
        #expect(try reader.read(Array(reader.sample.utf8)), "the sample isn't read")
        for input in Extremes.inputs(of: reader.sample) { _ = try? reader.read(input) }
    }

    private enum AnyJSON: String, CaseIterable, Sendable {
        case request, answer, value, payload, decodedPayload, member, answerMember, page

        func read(_ json: JSONValue, _ bytes: [UInt8]) throws -> JSONValue {
            switch self {
            case .request: try ControlJSON.parse(bytes)
            case .answer: try ControlJSON.parse(answer: bytes)
            case .value: try ControlJSON.value(of: json)
            case .payload: try json.encodedAsJSON()
            case .decodedPayload: try PayloadCoder.decode(JSONValue.self, from: Bytes(bytes), codec: .json)
            case .member:
                try PayloadCoder
                    .decode([String: [JSONValue]].self, from: Self.around(bytes, #"{"a":[1,"#, "]}"), codec: .json)["a"]?.last ?? nil
            case .answerMember: try ControlJSON.decode(AskResult.self, from: ["reply": json, "duration_us": 1]).reply
            case .page:
                // What a worker may send of its own pages.
                switch try PayloadCoder.decode(
                    Navigate.self,
                    from: Self.around(bytes, #"{"path":"/a","incarnation":1,"move":{"show":{"isModal":false,"_0":"#, "}}}"),
                    codec: .json
                ).move {
                case .show(let page, _): page
                default: nil
                }
            }
        }

        private static func around(_ bytes: [UInt8], _ before: String, _ after: String) -> Bytes {
            Bytes(Array(before.utf8) + bytes + Array(after.utf8))
        }
    }

    /// What a worker or an operator's program sends as a value of any form must not take a thread for long.
    @Test("A deep value takes about the time of a flat one with as many scalars", arguments: AnyJSON.allCases)
    private func depth(_ reader: AnyJSON) throws {
        func time(_ json: JSONValue) throws -> Int64 {
            let bytes = try ControlJSON.bytes(of: json)
            let begin = Timers.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID)
            #expect(try reader.read(json, bytes) == json)
            return Timers.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) - begin
        }
        let flat = JSONValue.array(Array(repeating: true, count: 5_000))
        let deep = (0..<JSONSyntax.maximumDepth - 2).reduce(flat) { value, _ in [value] }
        _ = try time(flat)
        #expect(try time(deep) < 5 * time(flat) + 10_000_000)
    }

    /// What reads, and is checked by other tests, or reads what this program has written for itself.
    private static let elsewhere: [String: String] = [
        "Migration/ImportedValue.swift": "sizes and times; ConfigurationImportTests, and each import here",
        "WireProtocol/JSON/JSONValue.swift": "JSONSyntaxTests, and each sample here",
        "WireProtocol/Tickets/Ticket.swift": "the fuzzer Frame",
        "WireProtocol/Frames/FrameDecoder.swift": "FrameRobustnessTests, the fuzzer Frame",
        "WireProtocol/Compact/CompactDecoder.swift": "CompactRobustnessTests, the fuzzer Compact",
        "Control/Answers/AnswerSchema.swift": "reads no bytes: what types ask for",
        "Control/Events/ControlEvent.swift": "the same as an answer",
        "Control/Answers/ControlError.swift": "the same as an answer",
        "Control/Client/ControlSession.swift": "reads answers",
        "DaemonConfiguration/Times/CronExpression.swift": "ScheduleTests; files of zones too",
        "Coordinators/Messages/Failures.swift": "PeerFuzzTests; a text",
        "Coordinators/Messages/ConfigurationValue.swift": "a program's own types",
        "Coordinators/Coordinator/CoordinatorCell+Description.swift": "a program's own types",
        "Coordinators/Routing/DependencyKey.swift": "a program's own types",
        "Coordinators/Features/Pools/Pool.swift": "a program's own configuration",
        "Coordinators/Children/ChildSupervisor+Definitions.swift": "a program's own configuration",
        "Coordinators/Messages/CoordinatorError.swift": "texts",
        "CoordinatorsCluster/Store/StoreValue.swift": "the protocol of those that read; the fuzzer Store",
        "CoordinatorsCluster/Etcd/EtcdWatch.swift": "etcd's forms",
        "CoordinatorDaemon/Operators/CarriedOutOperation.swift": "its own answers",
        "CoordinatorDaemon/Operators/ControlRequestHandler.swift": "its own answers",
        "CoordinatorConsole/API/Questions.swift": "what the daemon has answered",
        "CoordinatorDaemon/Upgrade/DaemonHandover.swift": "a file that this process alone has; UpgradeTests",
        "CoordinatorDaemon/Daemon/ConfiguredChildren.swift": "a configuration that was read",
        "CoordinatorDaemon/Cluster/ClusterMembership+Looks.swift": "reads answers",
        "CoordinatorDaemon/Cluster/ClusterMembership+Routing.swift": "reads answers",
        "Supervisord/SupervisordMethods+Configuration.swift": "reads answers",
    ]

    @Test("Every input with which the fuzzer of the store's values begins is read or refused as it should be")
    func corpus() throws {
        for input in try FuzzCorpus.inputs("Store") { #expect(FuzzedStoreValue.problem(input.bytes) == nil, "\(input)") }
    }

    @Test("Each fuzzer that is named here is built and run, and begins with inputs; each of the store's values is one of its")
    func fuzzers() throws {
        let script = try #require(Files.text(of: "\(Files.packageRoot)/Tests/Fuzz/run"))
        let package = try #require(Files.text(of: "\(Files.packageRoot)/Tests/Fuzz/Package.swift"))
        let named = Set(Self.elsewhere.values.flatMap { $0.matches(of: /the fuzzer (\w+)/).map { String($0.output.1) } })
        let run = try #require(script.firstMatch(of: /targets=\((\w[\w ]*)\)/)).output.1.split(separator: " ").map(String.init)
        #expect(named.subtracting(run) == [] && named.contains("Store"))
        for name in run { #expect(package.contains("\"\(name)Fuzz\""), "\(name)") }
        for name in named { #expect(try !FuzzCorpus.inputs(name).isEmpty) }
        let root = "\(Files.packageRoot)/Sources/"
        let values = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") && !$0.contains("/.build/") }
            .flatMap { file in (Files.text(of: root + file) ?? "").matches(of: /struct (\w+): StoreValue/).map { String($0.output.1) } }
        #expect(Set(values) == Set(FuzzedStoreValue.all.map(\.name)) && !values.isEmpty)
    }

    @Test("A file of the sources that reads is among those that are checked")
    func completeness() throws {
        let words = ["json", "xml", "bytes", "decoding", "reading", "ofNode", "parsing"].flatMap { ["init(\($0)", "init?(\($0)"] }
        let calls = ["init(from decoder", "func read(_ text", "func parse(", "func decode(", "JSONDecoder()", "ControlJSON.decode("]
        let marks = (words + calls).map { Data($0.utf8) }
        let root = "\(Files.packageRoot)/Sources/"
        let reading = try Set(
            #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }.filter { path in
                guard path.hasSuffix(".swift"), !path.hasPrefix("Examples/"), !path.hasPrefix("coordinatorctl/") else { return false }
                let text = Data(Files.bytes(of: root + path) ?? [])
                return marks.contains { text.range(of: $0) != nil }
            }
        )
        let checked = Set(Reader.all.flatMap(\.files)).union(Self.elsewhere.keys)
        #expect(reading.subtracting(checked).sorted() == [], "give them a reader in Readers.swift")
        let former = Self.elsewhere.keys.filter { !FileManager.default.fileExists(atPath: root + $0) }
        #expect(former == [] && Set(Reader.all.flatMap(\.files)).allSatisfy { FileManager.default.fileExists(atPath: root + $0) })
    }
}
