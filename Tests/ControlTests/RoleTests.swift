import ConcurrencySupport
import Glibc
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// What the roles of operators allow: every operation in every role.
@Suite("Roles of operators", .timeLimit(minutes: 1))
struct RoleTests {
    @Test(
        "Of every operation a member of a group gets what the group's role allows, and the handler learns of the rest",
        arguments: OperatorRole.allCases
    )
    func everyOperation(_ role: OperatorRole) async throws {
        let handler = FakeHandler()
        // This process is none of those who have every role, but a member of the group.
        try await withServer(handler, allowedUserIDs: [], groups: [getegid(): role]) { directory, _ in
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            for operation in ControlOperation.samples {
                let error = await failure { () throws(ControlError) in try await client.call(operation) }
                guard operation.role > role else {
                    #expect(error == nil, "\(operation)")
                    continue
                }
                let reason = "`\(operation.name)` needs the role `\(operation.role)`, and user \(geteuid()) has the role `\(role)`; ask"
                #expect(error?.code == .notPermitted && error?.message.hasPrefix(reason) == true, "\(operation)")
            }
        }
        #expect(handler.operations == ControlOperation.samples.filter { $0.role <= role })
        #expect(handler.refusals == ControlOperation.samples.filter { $0.role > role })
    }

    @Test("The protocol's article has the role of every operation")
    func table() throws {
        func name(_ operation: ControlOperation) -> String {
            if operation == .configurationDifference(file: "/a.yaml") { return "`config-diff` with `file`" }
            return "`\(operation.name)`"
        }
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Control/Control.docc/ControlProtocol.md"))
        for role in OperatorRole.allCases {
            let names = Set(ControlOperation.samples.filter { $0.role == role }.map(name)).sorted()
            let row = "| `\(role.rawValue)` | \(names.joined(separator: ", ")) |"
            print(row)
            #expect(text.contains("\n\(row)\n"), "\(row)")
        }
    }

    @Test("A repeated request of a lower role isn't told what became of the first")
    func repeated() async throws {
        let handler = FakeHandler()
        try await withServer(handler, allowedUserIDs: [], groups: [getegid(): .observe]) { directory, server in
            server.expect(.stop(path: "/a"), requestID: "1")(.success(["secret": 1]))
            let client = try await ControlClient.connect(runtimeDirectory: directory)
            let error = await failure { () throws(ControlError) in try await client.call(.stop(path: "/a"), requestID: "1") }
            #expect(error?.code == .notPermitted)
        }
    }

    @Test("What a node passes on is at most what operators of children may do")
    func nodes() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            for operation in ControlOperation.samples {
                if case .ping = operation { continue }
                if operation.isStream { continue }
                let failure = await a.failure(operation, of: b)
                if operation.role <= .operate {
                    #expect(failure == nil, "\(operation)")
                } else {
                    #expect(failure?.error.code == .notPermitted, "\(operation)")
                }
            }
            #expect(b.requests.allSatisfy { $0.operation.role <= .operate })
        }
    }

    @Test("The groups of a peer are all that it had when it connected")
    func groups() async throws {
        try await withServer { directory, _ in
            let client = try await RawClient(directory)
            let peer = try #require(client.connection.peer)
            var groups = [gid_t](repeating: 0, count: Int(getgroups(0, nil)))
            getgroups(Int32(groups.count), &groups)
            #expect(peer.groupIDs == Set(groups).union([getegid()]).sorted())
        }
    }
}
