import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A daemon whose descriptors run out", .timeLimit(.minutes(3)), .serialized)
struct DescriptorTests {
    static let tree = """
        children:
          - key: sleeper
            program: { command: [sleep, "1000"] }
          - key: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a], placement: inProcess } }
        supervision: { intensity: 100000, period: 1s, backoff: { minimum: 10ms, maximum: 100ms } }
        """

    @Test("Silent and idle connections never end the daemon, and an operator gets in", arguments: [48, 64, 256, 1024])
    func connections(_ limit: Int) async throws {
        try await RunningDaemon.with(Self.tree, descriptorLimit: limit) { daemon in
            try await daemon.eventually("all is active") { try await daemon.tree().children.allSatisfy { $0.state == "active" } }
            let crowd = try Crowd(at: "\(daemon.directory)/run/control.sock", count: limit + 60)
            // While they are held, for longer than Dispatch takes to look at its threads.
            let end = ContinuousClock.now + .seconds(4)
            var hasKilled = false
            while ContinuousClock.now < end {
                let printed = try await daemon.control("tree")
                #expect(printed.exitCode == 0, "\(printed.errors)")
                if !hasKilled { #expect(try await daemon.control("kill", "/sleeper").exitCode == 0) }
                hasKilled = true
            }
            // With 48 there is room for a spawn only when those who are silent have gone.
            try await daemon.eventually("it's back") {
                let sleeper = try await daemon.node("/sleeper")
                return sleeper.incarnation > 1 && sleeper.state == "active"
            }
            #expect(daemon.process.identity.isAlive)
            crowd.leave()
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
        }
    }
}

/// Many connections to a Unix socket, every fourth of which has said which protocol it speaks.
private final class Crowd: Sendable {
    private let descriptors: [Int32]

    init(at path: String, count: Int) throws {
        ResourceLimits.raiseOpenFiles()
        descriptors = try (0..<count).map { index in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            try #require(descriptor >= 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            // Unsafe: the path is a fixed array of the C structure.
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
            try #require(result == 0, "connection \(index): \(String(cString: strerror(errno)))")
            if index.isMultiple(of: 4) {
                let greeting: [UInt8] = [0, 0x53, 0x50, 0, 0, 0x10, 0, 0]
                _ = send(descriptor, greeting, greeting.count, Int32(MSG_NOSIGNAL))
            }
            return descriptor
        }
    }

    func leave() { for descriptor in descriptors { close(descriptor) } }
}
