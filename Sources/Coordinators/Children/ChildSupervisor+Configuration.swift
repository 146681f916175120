import ConcurrencySupport
import WireProtocol

extension ChildSupervisor {
    /// Changes a child's configuration, which the child takes while it lives or with a restart.
    ///
    /// - Throws: `noSuchChild`; the error with which the child refuses the configuration: the former one then stays.
    func reconfigure<Configuration: Codable & Sendable>(
        _ key: String,
        timeout: Duration,
        _ change: (inout Configuration) throws -> Void
    ) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        // The caller's function runs before the first suspension, with the caller's isolation.
        guard let former = definition(of: key) else { throw noSuchChild(key) }
        guard let given = former.configuration else { throw CoordinatorError(.unsupported, "\(key) is a program") }
        var configuration = try given.decoded(as: Configuration.self)
        try change(&configuration)
        let value = ConfigurationValue.value(configuration)
        let turn = withSlot(key) { slot in
            let turn = slot.record.configurationTurn ?? AsyncLock()
            slot.record.configurationTurn = turn
            return turn
        }
        guard let turn else { throw noSuchChild(key) }
        try await turn.pass { try await self.reconfigureInTurn(key, former, value, timeout) }
    }

    private func definition(of key: String) -> ChildDefinition? {
        state.withLock { state in
            state.machine.state(of: key) == nil ? nil : state.slots.with(key) { $0.definition }
        }
    }

    private func reconfigureInTurn(_ key: String, _ former: ChildDefinition, _ value: ConfigurationValue, _ timeout: Duration) async throws
    {
        guard let next = former.configured(with: value) else { return }
        if try next.differences(from: former).isEmpty { return }
        // From now on each new life begins with the new value, whatever happens to the present one.
        guard replace(former, with: next, of: key) else {
            throw CoordinatorError(.configurationDiffers, "\(cell.path.appending(key)) was configured anew at the same time: try again")
        }
        // A child that has ended takes the value when it's started again.
        guard state.withLock({ $0.isAlive(key) }) else { return }
        switch try await reaction(of: key, to: value, timeout, orBack: (next, former)) {
        case .taken: return
        case .restart: try await restart(key)
        }
    }

    /// Replaces a child's definition.
    ///
    /// - Returns: False when the child has another definition by now.
    private func replace(_ former: ChildDefinition, with next: ChildDefinition, of key: String) -> Bool {
        withSlot(key) { slot in
            guard slot.registration.definition === former else { return false }
            slot.registration.definition = next
            return true
        } ?? false
    }

    /// Lets the child's hook decide.
    private func reaction(
        of key: String,
        to value: ConfigurationValue,
        _ timeout: Duration,
        orBack change: (next: ChildDefinition, former: ChildDefinition)
    ) async throws -> Reconfiguration {
        guard state.withLock({ $0.isRunning(key) }) else { return .restart }
        do {
            let request = Reconfigure(configuration: CarriedConfiguration(value: value))
            let answer = try await cell.request(request, by: cell.runtime.time.now + timeout) { deliver($0, to: key, [], isDirect: true) }
            return try answer.decoded(as: Reconfiguration.self)
        } catch let error as CoordinatorError where [.peerLost, .restarting, .unhandled, .noSuchPath].contains(error.code) {
            // The life was lost, and the next one begins with the new value; or its program doesn't know the request.
            return .restart
        } catch {
            _ = replace(change.next, with: change.former, of: key)
            throw error
        }
    }
}

/// A request to a coordinator to take another configuration, in its turn among the coordinator's messages.
struct Reconfigure: BuiltinMessage {
    static var builtin: Builtin { .reconfigure }
    typealias Reply = Reconfiguration
    var configuration: CarriedConfiguration
}

/// A complete configuration in a message: the value itself within a process, JSON between processes.
struct CarriedConfiguration: Codable, Sendable {
    let value: ConfigurationValue

    init(value: ConfigurationValue) { self.value = value }

    init(from decoder: any Decoder) throws {
        let json = try JSONValue(from: decoder)
        value = .encoded(.json, try PayloadCoder.encode(json, as: .json), isComplete: true)
    }

    func encode(to encoder: any Encoder) throws { try value.json().encode(to: encoder) }
}

extension CoordinatorCell {
    /// The row of every coordinator that takes a changed configuration.
    static let reconfigureRow = MessageRow(.type(Reconfigure.self)) { coordinator, envelope, receiver, _ in
        let cell = CoordinatorCell.of(receiver)
        let request = try envelope.message(as: Reconfigure.self)
        return .value(try await cell.type.reconfigure(cell, coordinator, request.configuration.value))
    }
}
