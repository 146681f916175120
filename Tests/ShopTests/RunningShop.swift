import Coordinators
import CoordinatorsTesting
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Shop

/// The real shop in its five processes, with a database of its own, spoken to as `coordinatorctl` speaks to it.
struct RunningShop {
    let runtime: CoordinatorRuntime
    let database: String

    /// Runs a shop for the length of a test.
    static func with(_ body: (RunningShop) async throws -> Void) async throws {
        try await withTemporaryDirectory { try await with(database: $0.file("shop.sqlite"), body) }
    }

    /// Runs a shop on a database that may have seen another shop before.
    static func with(database: String, _ body: (RunningShop) async throws -> Void) async throws {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        try await withRuntime(ShopRoot.self, options: options) {
            $0.executable = program.path
            $0.shop = ["database": .string(database)]
        } _: { runtime in
            try await body(RunningShop(runtime: runtime, database: database))
        }
    }

    /// Asks by name.
    ///
    /// What is asked while a process dies may be lost with it, and is asked again.
    ///
    /// - Parameter attempts: how many lives it may take; one for what must not be said twice.
    @discardableResult
    func ask(_ path: CoordinatorPath, _ name: String, _ payload: JSONValue = [:], attempts: Int = 20) async throws -> JSONValue {
        var attempt = 1
        while true {
            do {
                return try await runtime.ask(named: name, payload: payload, at: path, timeout: .seconds(50))
            } catch let error as CoordinatorError where error.code == .peerLost && attempt < attempts {
                attempt += 1
                try await eventually("\(path) lives again") { try? await runtime.snapshot(of: path).state == .active }
            }
        }
    }

    /// Asks for what must be refused, and returns what the customer reads.
    func refusal(_ path: CoordinatorPath, _ name: String, _ payload: JSONValue = [:]) async throws -> String {
        // The tests have the shop's types, so that the error is what the shop has thrown.
        let error = await #expect(throws: ShopError.self) { try await ask(path, name, payload) }
        return error?.description ?? ""
    }

    func logIn(_ name: String = "ada", _ password: String = "lovelace") async throws {
        try await ask("/shop/account", "Account.Login", ["name": .string(name), "password": .string(password)])
    }

    /// The process that hosts a coordinator now.
    func process(of path: CoordinatorPath) async throws -> ProcessIdentity { try #require(await livingProcess(of: path)) }

    /// The process that hosts a coordinator now, as far as is known; `nil` between two lives.
    func livingProcess(of path: CoordinatorPath) async -> ProcessIdentity? {
        guard let snapshot = try? await runtime.snapshot(of: path), let processID = snapshot.processID,
            let startTime = snapshot.processStartTime
        else { return nil }
        return ProcessIdentity(processID: processID, startTime: startTime)
    }

    /// Kills the process of a section with -9, and returns when another life of the section answers.
    func kill(_ section: CoordinatorPath) async throws {
        let before = try await runtime.snapshot(of: section)
        let process = try await process(of: section)
        try process.send(.kill)
        await process.waitUntilGone()
        try await eventually("\(section) lives again") {
            // What is asked of a process that dies may be lost with it.
            guard let now = try? await runtime.snapshot(of: section) else { return false }
            return now.state == .active && now.incarnation > before.incarnation
        }
        let now = try await runtime.snapshot(of: section)
        #expect(now.incarnation == before.incarnation + 1)
        #expect(now.processID != before.processID)
    }

    private static let program = BuiltProgram("Shop")
}
