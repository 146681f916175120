import Flows
import WireProtocol

/// Flows that are open in a process, as its next build gets them to try.
struct OpenFlows: Codable, Sendable {
    struct Entry: Codable, Sendable {
        let path: CoordinatorPath
        let record: JSONValue
    }

    /// The place from which on more are read.
    struct Place: Codable, Sendable {
        /// The number of the store among those of the process, in the order of the tree.
        var store = 0
        /// The key after which they begin.
        var after: String?
    }

    var entries: [Entry] = []
    var next: Place?
    /// The number of the form in which they're kept; `nil`: the first one.
    var form: Int? = FlowRecord.form

    /// Checks that this build can go on with all of them.
    func check() throws(CoordinatorError) {
        if let form, form > FlowRecord.form, !entries.isEmpty {
            throw CoordinatorError(
                .startFailed,
                """
                the flows are kept in form \(form), and the new build knows \(FlowRecord.form), so nothing has changed: go on with a build that knows \(form)
                """
            )
        }
        let problems = entries.compactMap { entry in entry.problem.map { "\(entry.path): \($0)" } }
        if problems.isEmpty { return }
        let shown = problems.prefix(3).joined(separator: "; ") + (problems.count > 3 ? "; and \(problems.count - 3) more" : "")
        throw CoordinatorError(
            .startFailed,
            "the new process can't go on with flows that are open, and nothing has changed: \(shown) (a plain restart doesn't ask)"
        )
    }
}

extension OpenFlows.Entry {
    /// The reason why this build can't go on with the flow; `nil` when it can, or that can't be tried.
    fileprivate var problem: String? {
        do {
            let record = try FlowRecord(decoding: record)
            guard let symbol = record.symbol else { return nil }
            guard let type = _typeByName(symbol) as? any DurableCoordinator.Type else {
                return "there is no \(record.type) any more, or it's in another module"
            }
            try type.check(record, at: path)
            return nil
        } catch {
            return (error as? CoordinatorError)?.message ?? "\(error)"
        }
    }
}

extension DurableCoordinator {
    fileprivate static func check(_ record: FlowRecord, at path: CoordinatorPath) throws {
        try FlowLife<Self>.check(record, path.description)
    }
}

extension CoordinatorCell {
    /// Returns flows that are open in the stores of this process, from a place on.
    func readOpenFlows(_ budget: TimeoutBudget) async throws -> JSONValue {
        let place = try budget.argument.map { try OpenFlows.Place(decoding: $0) } ?? OpenFlows.Place()
        var (found, bytes) = (OpenFlows(), 0)
        let owners = ownersOfFlows
        for (number, owner) in owners.enumerated().dropFirst(place.store) {
            guard let core = owner.existingFlows?.store else { continue }
            _ = try await core.open()
            var after = number == place.store ? place.after : nil
            let isRead = try await core.storage.scan(FlowQuery(selection: .open, at: runtime.time.wall, after: after)) { row in
                guard bytes + row.record.count <= FlowStoreCore.answerLimit || found.entries.isEmpty else { return false }
                after = row.key
                bytes += row.record.count
                guard let record = try? PayloadCoder.decode(JSONValue.self, from: Bytes(row.record), codec: .json) else { return true }
                let entry = OpenFlows.Entry(path: owner.path.appending(flowKey: row.key), record: record)
                // What this build can't go on with needn't be read by the next one.
                if entry.problem == nil { found.entries.append(entry) }
                return true
            }
            if !isRead {
                found.next = OpenFlows.Place(store: number, after: after)
                break
            }
        }
        return try found.encodedAsJSON()
    }

    /// The coordinators of this process that own stores, at this one and below, in the order of the tree.
    private var ownersOfFlows: [CoordinatorCell] {
        let below = existingChildren?.hosts.compactMap { $0 as? CoordinatorCell } ?? []
        return (existingFlows?.store == nil ? [] : [self]) + below.flatMap(\.ownersOfFlows)
    }
}
