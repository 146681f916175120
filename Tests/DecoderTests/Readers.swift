import ConcurrencySupport
import Flows
import Foundation
import NNG
import Ownership
import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import CoordinatorDaemon
@testable import Coordinators
@testable import CoordinatorsCluster
@testable import DaemonConfiguration
@testable import Migration
@testable import Processes
@testable import Supervisord

/// One thing that reads what others have written, with a sample, and what is done first with what was read.
struct Reader: Sendable, CustomTestStringConvertible {
    let name: String
    /// The files below `Sources` in which it reads.
    let files: [String]
    let sample: String
    /// Returns whether the input was read; throws, or returns false, when it was refused.
    let read: @Sendable ([UInt8]) throws -> Bool

    init(_ name: String, in files: String..., of sample: String, _ read: @escaping @Sendable ([UInt8]) throws -> Bool) {
        (self.name, self.files, self.sample, self.read) = (name, files, sample, read)
    }

    var testDescription: String { name }

    /// All of them; `DecoderTests` finds the files that aren't named here.
    static let all = store + etcd + control + answers + workers + files
}

extension Reader {
    private static let store = FuzzedStoreValue.all.map { value in
        Reader(value.name, in: value.file, of: value.sample) { bytes in
            switch value.read(bytes) {
            case .read: return true
            case .refused: return false
            case .problem(let problem): preconditionFailure(problem)
            }
        }
    }

    private static func form<Form: Decodable & SendableMetatype>(
        _ type: Form.Type,
        _ sample: String,
        _ use: @escaping @Sendable (Form) -> Void
    ) -> Reader {
        Reader("etcd's \(type)", in: "CoordinatorsCluster/Etcd/EtcdForms.swift", "CoordinatorsCluster/Etcd/EtcdClient.swift", of: sample) {
            use(try JSONDecoder().decode(type, from: Data($0)))
            return true
        }
    }

    /// The path of a key of the cluster `c`, in base 64.
    private static let pair: String = {
        let key = Data("/coordinators/c/owners/shop".utf8).base64EncodedString()
        return #"{"key":"\#(key)","value":"e30=","create_revision":"5","mod_revision":"6","version":"1","lease":"7"}"#
    }()

    private static let etcd = [
        form(EtcdForms.Listing.self, #"{"header":{"revision":"9"},"kvs":[\#(pair)],"count":"1"}"#) { note($0.kvs) },
        form(
            EtcdForms.Outcome.self,
            #"{"header":{"revision":"9"},"succeeded":true,"responses":[{"response_range":{"kvs":[\#(pair)]}}]}"#
        ) { note($0.responses?.first?.range?.kvs) },
        form(
            EtcdForms.Result<EtcdForms.WatchMessage>.self,
            #"{"result":{"header":{"revision":"9"},"created":true,"compact_revision":"0","events":[{"type":"PUT","kv":\#(pair)}]}}"#
        ) { form in
            for event in form.result?.events ?? [] { _ = EtcdKeys(cluster: "c").change(event) }
            note(form.result?.events?.compactMap(\.kv))
        },
        form(EtcdForms.Result<EtcdForms.Lease>.self, #"{"result":{"ID":"7","TTL":"5"}}"#) { form in
            let granted = Duration.seconds(form.result?.timeToLive?.value ?? 0)
            var machine = OwnershipMachine(terms: LeaseTerms(), now: .zero)
            _ = machine.handle(.joined(lease: form.result?.id?.value ?? 0, sentAt: .zero, granted: granted), now: .zero)
            _ = machine.handle(.timePassed, now: .seconds(1))
        },
        form(EtcdForms.Failure.self, #"{"error":"etcdserver: no leader","code":14,"message":"m"}"#) { _ in },
        form(EtcdForms.Token.self, #"{"token":"abc.5"}"#) { _ in },
    ]

    /// Does with entries what a node does with what it sees.
    private static func note(_ pairs: [EtcdForms.KeyValue]?) {
        for entry in (pairs ?? []).compactMap(EtcdKeys(cluster: "c").entry) {
            var (view, gate, route) = (ClusterView(), EpochGate(), OwnerRoute())
            view.apply(StoreChange(key: entry.key, revision: entry.modified, entry: entry))
            let epoch = Epoch(rawValue: entry.created.rawValue)
            _ = gate.admit(epoch, of: "/shop")
            _ = route.notHere(sent: epoch, known: Epoch(rawValue: .max))
            var machine = OwnershipMachine(terms: LeaseTerms(), now: .zero)
            _ = machine.handle(.joined(lease: 7, sentAt: .zero, granted: .seconds(5)), now: .zero)
            _ = machine.handle(.assigned("/shop", moves: 0), now: .zero)
            _ = machine.handle(.claimed("/shop", lease: 7, epoch), now: .zero)
            _ = machine.handle(.ownerSeen("/shop", epoch, lease: entry.lease?.rawValue), now: .zero)
            _ = machine.handle(.ownerGone("/shop", revision: entry.modified.rawValue), now: .zero)
        }
    }

    // MARK: - Operators and nodes

    private static let requests: [String] = [
        #"{"v":1,"id":7,"op":"ask","path":"/shop","message":"Add","payload":{"sku":"a","n":5},"timeout_ms":5000,"request_id":"r"}"#,
        #"{"v":1,"id":7,"op":"scale","path":"/shop","instances":3,"origin":{"pid":5,"uid":0,"user":"u","command":"c","epoch":9}}"#,
        #"{"v":1,"id":7,"op":"signal","path":"/shop","signal":9}"#, #"{"v":1,"id":7,"op":"upgrade","file":"/bin/true","wait_ms":100}"#,
        #"{"v":1,"id":7,"op":"logs","paths":["/shop"],"lines":10,"since_ms":5,"pattern":"a"}"#,
        #"{"v":1,"id":7,"op":"events","path":"/shop","after":5,"boot":"b","since_ms":6}"#,
        #"{"v":1,"id":7,"op":"on-node","node":"a","question":{"op":"ps"}}"#,
    ]

    private static let control: [Reader] =
        requests.map { sample in
            Reader(
                "request \(sample.dropFirst(20).prefix(12))",
                in: "Control/Requests/ControlRequest.swift",
                "Control/Requests/RequestOrigin.swift",
                "Control/JSON/ControlJSON.swift",
                of: sample
            ) { bytes in
                let request = try ControlRequest(ofNode: try ControlJSON.parse(bytes))
                let again = try ControlRequest(ofNode: request.json)
                guard again.operation.name == request.operation.name else { preconditionFailure("\(request) doesn't come back") }
                let ledger = RequestLedger()
                _ = ledger.openEntry("r", request.operation, of: .user(0))
                return true
            }
        } + conversations

    private static let conversations = [
        Reader(
            "greeting of nodes",
            in: "Control/Nodes/NodeGreeting.swift",
            of: #"{"greeting":"hello","v":1,"purpose":"streams","cluster":"c","node":"a","token":"t","number":"1"}"#
        ) { NodeGreeting(bytes: $0) != nil },
        Reader("answer", in: "Control/Answers/ControlAnswer.swift", of: #"{"id":7,"error":{"code":"not_here","message":"m","epoch":9}}"#) {
            ControlAnswer(json: try ControlJSON.parse(answer: $0)) != nil
        },
        Reader("header of a message", in: "NNG/PairConnection.swift", of: "\u{1}\0\0\0\0\0\0\0\u{9}123456789") { bytes in
            guard !bytes.isEmpty else { return false }
            return bytes.withUnsafeBytes { if case .message = PairFraming.parse($0, maximum: 1 << 20) { true } else { false } }
        },
    ]

    // MARK: - What a daemon answers

    private static func answer<Answer: Decodable & SendableMetatype>(
        _ type: Answer.Type,
        in files: String...,
        of sample: String,
        _ use: @escaping @Sendable (Answer) -> Void = { _ in }
    ) -> Reader {
        let read: @Sendable ([UInt8]) throws -> Bool = {
            use(try ControlJSON.decode(type, from: try ControlJSON.parse(answer: $0)))
            return true
        }
        return Reader(name: "\(type)", files: files, sample: sample, read: read)
    }

    private init(name: String, files: [String], sample: String, read: @escaping @Sendable ([UInt8]) throws -> Bool) {
        (self.name, self.files, self.sample, self.read) = (name, files, sample, read)
    }

    private static let treeNode = #"""
        {"key":"a","path":"/a","type":"T","kind":"program","state":"active","pid":5,"incarnation":1,"restarts":2,"uptime_ms":3,
        "placement":"program","next_start_ms":5,"waits_for":["/b"],"mailbox":{"waiting":1,"running":2,"oldest_waiting_ms":3,"handled":4,
        "places":[{"reason":"opening","key":"b","waiting":1,"oldest_waiting_ms":3}]},
        "health":{"healthy":true,"failures":1},"children":[]}
        """#

    private static let answers = [
        answer(TreeNode.self, in: "CoordinatorConsole/Feed/Feed.swift", of: treeNode),
        answer(
            ProcessList.self,
            of: #"{"processes":[{"pid":5,"path":"/a","start_time":6,"uptime_ms":7,"state":"active","restarts":8,"incarnation":9}]}"#
        ),
        answer(DeadLetterList.self, of: #"{"count":5,"letters":[{"name":"n","sender":"s","target":"t","reason":"r"}]}"#),
        answer(
            TreeMetrics.self,
            in: "CoordinatorConsole/Metrics/MetricsPage.swift",
            of: #"""
                {"counting":true,"bounds_seconds":[1,2],"unreadable_entries":4,
                "asks":[{"path":"/a","message":"m","failed":false,"count":5,"sum_seconds":6,"buckets":[7,8,9]}]}
                """#
        ),
        answer(
            NodeList.self,
            of: #"""
                {"cluster":"c","membership":"member","homeless":["/a"],"unreadable":["desired/b"],
                "nodes":[{"name":"a","self":true,"leads":true,"drains":false,"labels":{"x":"y"},"capacity":5,"version":"1","subtrees":["/c"]}]}
                """#
        ),
        answer(SubtreeLocation.self, of: #"{"path":"/a","node":"a","epoch":5,"failed_on":["b"],"given_up":false}"#),
        Reader(
            "what a rehearsal says",
            in: "CoordinatorDaemon/Upgrade/UpgradeDryRun.swift",
            of: #"{"version":"1.2.3","programs":5,"sockets":6}"#
        ) { UpgradeDryRun(report: $0) != nil },
        answer(
            TraceResult.self,
            in: "CoordinatorConsole/API/Changes.swift",
            of: #"""
                {"trace":"t","reply":1,"pid":2,"duration_us":3,"hops":[{"path":"/a","type":"T","pid":4,"message":"m","sender":"s",
                "start_us":5,"waited_us":6,"duration_us":7}]}
                """#
        ),
        answer(
            LifeHistory.self,
            in: "Supervisord/SupervisordMethods.swift",
            of: #"{"path":"/a","lives":[{"incarnation":1,"pid":2,"started":"2026-01-01T00:00:00.000000Z","duration_ms":3,"reason":"r"}]}"#
        ) { history in for life in history.lives { _ = life.started.flatMap { Timestamp.microseconds(of: $0) } } },
        answer(
            LogLine.self,
            in: "Control/Logs/LogLine.swift",
            "Supervisord/ProcessLogText.swift",
            "CoordinatorConsole/Supervisord/LogTail.swift",
            of: #"{"time":"2026-01-01T00:00:00.000000Z","path":"/a","pid":1,"incarnation":2,"stream":"stdout","line":"l","priority":3}"#
        ) { _ = Timestamp.microseconds(of: $0.time) },
    ]

    // MARK: - Workers, and what a root leaves to the next one

    private static func decoded<Value: Decodable & SendableMetatype>(
        _ type: Value.Type,
        in file: String,
        of sample: String,
        _ use: @escaping @Sendable (Value) -> Void = { _ in }
    ) -> Reader {
        Reader("\(type)", in: file, "Coordinators/Messages/PayloadCoder.swift", of: sample) { bytes in
            // In its other form, too, whatever the bytes are in it.
            _ = try? PayloadCoder.decode(type, from: Bytes(bytes), codec: .compact)
            use(try PayloadCoder.decode(type, from: Bytes(bytes), codec: .json))
            return true
        }
    }

    /// The record of a durable flow, to which all that can happen happens.
    private static let flow = decoded(
        FlowRecord.self,
        in: "Flows/WallTime.swift",
        of:
            #"{"type":"Order","version":1,"id":7,"configuration":null,"state":{},"showings":[[1,"b"],{"number":2,"page":"a","phase":"begun","isPopped":true,"failures":1,"interruptions":0,"error":"e","resumption":5}],"standing":{"unwinding":{"because":"r"}},"parking":{"error":"p","since":4},"outgoing":[{"origin":1,"number":2,"name":"m","message":{},"due":9,"failures":0}],"inbox":{"origins":[{"number":3,"floor":1,"taken":[{"number":1,"reply":true}]}]},"changed":8,"nextNumber":3}"#
    ) { record in
        let now = WallTime(nanoseconds: 10)
        let due = record.due.map { $0 + .seconds(5) } ?? now
        var next = record
        next.retry(at: due)
        next.interrupted(before: 1, limit: 3, at: now)
        next.change(FlowRecord.Change([.show(JSONText("a")), .pop, .show(JSONText("b")), .finish(1)]), at: now)
        for _ in 0..<4 {
            guard let work = next.work else { break }
            next.failed(work, "e", at: now) { _ in nil }
            next.skip(FlowRecord.Change(), at: now)
        }
        for message in next.outgoing {
            next.stayed(message.origin, message.number, "e", resumption: message.departure, at: now)
            next.left(message.origin, message.number, at: now)
        }
        next.took(3, 2, .null)
        next.forget(below: 2, of: 3)
        let again = try? PayloadCoder.decode(FlowRecord.self, from: Bytes(next.text), codec: .json)
        precondition(again == next, "the record isn't read as it was written")
    }

    private static let workers = [
        flow,
        decoded(FlowRecord.Showing.self, in: "Flows/FlowRecord+Text.swift", of: #"[1,"a"]"#),
        decoded(JSONText.self, in: "WireProtocol/JSON/JSONText.swift", of: #"{"a":[1,"b",null]}"#),
        decoded(
            AskDurations.self,
            in: "Coordinators/Observation/AskDurations.swift",
            of: #"[{"key":{"path":"/a","message":"m","hasFailed":false},"histogram":{"counts":[\#(counts)],"sum":5}}]"#
        ) { durations in
            var sum = durations
            for _ in 0..<2 { sum.add(durations) }
            _ = TreeMetrics(sum, unreadableEntries: nil, clusterFiles: nil)
        },
        decoded(
            LifecycleReport.self,
            in: "Coordinators/Observation/LifecycleReporter.swift",
            of: #"{"changes":[{"path":"/a","incarnation":1,"processID":2,"kind":{"adopted":{}},"time":5}],"missed":6}"#
        ) { report in
            var sum = report
            for _ in 0..<2 { sum.add(report) }
        },
        decoded(
            RuntimeCounters.self,
            in: "Coordinators/Messages/CoordinatorSnapshot.swift",
            of: #"{"coordinators":1,"links":2,"openAsks":3,"observers":4,"spares":5}"#
        ),
        decoded(
            CoordinatorSnapshot.self,
            in: "Coordinators/Messages/CoordinatorSnapshot.swift",
            of: #"""
                {"path":"/a","type":"T","state":"active","host":"worker","processID":1,"processStartTime":2,"incarnation":3,"restarts":4,
                "restartAttempt":5,"nextStartMilliseconds":6,"uptimeMilliseconds":7,"isUnresponsive":false,
                "mailbox":{"waiting":8,"running":9,"handled":10,"oldestWaitingMilliseconds":11,
                "places":[{"reason":"member","key":"1","waiting":8,"oldestWaitingMilliseconds":11}]},
                "flows":{"open":12,"unwinding":13,"parked":14,"due":15,"oldestDueMilliseconds":16,"outboxAgeMilliseconds":18,"commitP99Microseconds":17},"children":[]}
                """#
        ) { snapshot in
            _ = TreeNode(snapshot)
            _ = try? snapshot.encodedAsJSON()
        },
        decoded(
            FlowStore.Listing.self,
            in: "Coordinators/Features/Flows/FlowStore+Operations.swift",
            of: #"""
                {"entries":[{"path":"/a/b","flow":{"key":"b","type":"T","status":"parked","pages":["p"],"error":"e","failures":1,"outgoing":2,
                "pageNumber":2,"due":3,"changed":4}}],"next":"/a/b","unanswered":["/a/c"]}
                """#
        ) { listing in
            var sum = FlowStore.Listing()
            for _ in 0..<2 { sum.add([listing.own(of: "/a", after: nil)], limit: 1) }
            _ = listing.entries.map { FlowList.Entry($0) }
        },
        decoded(
            FlowStore.ListRequest.self,
            in: "Coordinators/Features/Flows/FlowStore+Operations.swift",
            of: #"{"selection":"due","after":"/a","limit":3}"#
        ),
        decoded(
            FlowStore.FlowRequest.self,
            in: "Coordinators/Features/Flows/FlowStore+Operations.swift",
            of: #"{"action":"skip","reason":"r","page":2}"#
        ),
        decoded(
            OpenFlows.self,
            in: "Coordinators/Features/Flows/OpenFlows.swift",
            of: #"{"entries":[{"path":"/a","record":{"type":"T","symbol":"1T"}}],"next":{"store":1,"after":"b"}}"#
        ) { try? $0.check() },
        decoded(OpenFlows.Place.self, in: "Coordinators/Features/Flows/OpenFlows.swift", of: #"{"store":1,"after":"b"}"#),
        decoded(CoordinatorPath.self, in: "Coordinators/Messages/CoordinatorPath.swift", of: #""/a/b""#),
        Reader("ProcessReport", in: "Coordinators/Transport/Uplink+Reports.swift", of: #"{"pid":5,"start_time":6,"mark":"abc"}"#) {
            ProcessReport("process-started", try ControlJSON.parse($0)) != nil
        },
        Reader(
            "StartProposal",
            in: "Coordinators/Children/Workers/SparePool.swift",
            of: #"{"type":"T","configuration":{"a":5},"complete":true}"#
        ) { StartProposal(StartProposal.operation, try ControlJSON.parse($0)) != nil },
        Reader(
            "journal of processes",
            in: "Coordinators/Runtime/ProcessJournal.swift",
            "Coordinators/Runtime/OrphanedWorkers.swift",
            of: """
                coordinators 1 55 66 boot 7
                + 56 67 mark worker
                a 57 68 mark {"path":"/a","incarnation":1,"secret":"\(String(repeating: "0a", count: 32))","fingerprint":"f","user":5,"lock":"l"}
                - 56 67

                """
        ) { bytes in
            let content = ProcessJournal.read(String(decoding: bytes, as: UTF8.self))
            for entry in content?.entries ?? [] { _ = (entry.record?.secretBytes, entry.record?.lockName, entry.line) }
            return content != nil
        },
    ]

    private static let counts = [UInt64](repeating: 1, count: Histogram().counts.count).map(String.init).joined(separator: ",")

    // MARK: - Files

    /// Reads a file of another supervisor.
    private static func imported(_ format: ConfigurationImport.Format, in file: String, of sample: String) -> Reader {
        Reader("file of \(format)", in: file, of: sample) { bytes in
            let directory = try TemporaryDirectory()
            defer { withExtendedLifetime(directory) {} }
            let path = directory.file("file")
            try Data(bytes).write(to: URL(filePath: path))
            return !(try ConfigurationImport(path: path, format: format, environment: [:])).yaml.isEmpty
        }
    }

    private static let files = [
        Reader(
            "children.json",
            in: "CoordinatorDaemon/Daemon/StandingFile.swift",
            of: """
                {"format":1,"boot":"b","resting":{"/a":{"lastExit":"x","isStopped":true,"isHeld":false}},"ended":{"/a":"f"},"paused":["/b"],
                "started":["/c"]}
                """
        ) { bytes in
            !(try ControlJSON.decode(StandingFile.Content.self, from: try ControlJSON.parse(answer: bytes))).isEmpty
        },
        Reader(
            "schedules",
            in: "CoordinatorDaemon/Schedules/ScheduleFile.swift",
            of: "1700000000\t-\t0 4 * * *\t/backup\n1700000001\tEurope/Berlin\t@daily\t/b\nqueued\t/b\n"
        ) { bytes in !ScheduleFile.entries(in: String(decoding: bytes, as: UTF8.self)).isEmpty },
        imported(
            .pm2,
            in: "Migration/EcosystemImport.swift",
            of: #"{"apps":[{"name":"a","script":"a.js","instances":2,"max_restarts":5,"kill_timeout":1600,"env":{"A":"b"}}]}"#
        ),
        imported(
            .supervisord,
            in: "Migration/SupervisordImport.swift",
            of: "[program:a]\ncommand=/bin/cat\nnumprocs=2\nprocess_name=%(process_num)02d\nstartsecs=3\nstartretries=4\nstopwaitsecs=5\n"
        ),
        imported(
            .circus,
            in: "Migration/CircusImport.swift",
            of: "[watcher:a]\ncmd = /bin/cat\nnumprocesses = 2\ngraceful_timeout = 3\nmax_retry = 4\nrlimit_nofile = 5\n"
        ),
        imported(
            .processCompose,
            in: "Migration/ComposeImport.swift",
            of: "processes:\n  a: { command: cat, replicas: 2, availability: { restart: always, backoff_seconds: 3, max_restarts: 4 } }\n"
        ),
        imported(
            .systemd,
            in: "Migration/UnitImport.swift",
            of: "[Unit]\nStartLimitBurst=3\n[Service]\nExecStart=/bin/cat\nRestartSec=4min 5s\nLimitNOFILE=6:7\nTimeoutStopSec=8\n"
        ),
        Reader(
            "configuration",
            in: "DaemonConfiguration/Configuration/DaemonConfiguration+Loading.swift",
            "DaemonConfiguration/YAML/SourceText.swift",
            of: """
                supervision: { max_restarts: 3, period: 2m, backoff: { minimum: 1ms, maximum: 1h, factor: 2 } }
                cluster: { name: c, directory: /tmp/x, ttl: 5s, capacity: 6 }
                children:
                - { name: a, program: { command: [/bin/cat] }, instances: 7, stop_timeout: 8s, placement: { weight: 9, moves: 10 } }

                """
        ) { bytes in
            _ = try DaemonConfiguration.parse(bytes: bytes, file: "file")
            return true
        },
        Reader("environment file", in: "Processes/EnvironmentFile.swift", of: "A=5\nB=\"6\\\n7\"\n") { bytes in
            _ = try EnvironmentFile.parse(String(decoding: bytes, as: UTF8.self), file: "file")
            return true
        },
        Reader(
            "line of a log",
            in: "CoordinatorDaemon/Logs/LogEntry.swift",
            of: #"{"time":"2026-01-01T00:00:00.000000Z","path":"/a","pid":1,"incarnation":2,"stream":"stdout","line":"l"}"#
        ) { bytes in !LogEntry.line(bytes[...], path: "/a", formerTime: "").time.isEmpty },
        Reader(
            "line of a log, plain",
            in: "CoordinatorDaemon/Logs/LogEntry.swift",
            of: "2026-01-01T00:00:00.000000Z stdout G:5:6 text"
        ) { bytes in !LogEntry.line(bytes[...], path: "/a", formerTime: "").time.isEmpty },
        Reader(
            "call of XML-RPC",
            in: "Supervisord/XMLRPCCall.swift",
            of: "<methodCall><methodName>m</methodName><params><param><value><int>5</int></value></param></params></methodCall>"
        ) { bytes in
            _ = try XMLRPCCall(xml: bytes)
            return true
        },
        Reader("line of proc_pid_stat(5)", in: "Processes/ProcessIdentity.swift", "Processes/ProcessUsage.swift", of: stat) { bytes in
            _ = ProcessUsage(parsing: String(decoding: bytes, as: UTF8.self))
            return ProcessStatistics(parsing: bytes) != nil
        },
    ]

    private static let stat = "5 (a b) S " + (4...26).map(String.init).joined(separator: " ")
}
