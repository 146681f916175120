public import Flows
public import WireProtocol

extension FlowStore {
    /// A flow, as an operator sees it.
    public struct Description: Sendable, Hashable, Codable {
        /// The progress of a flow.
        public enum Status: String, Sendable, Hashable, Codable, CaseIterable {
            /// It goes on, or waits for messages.
            case open
            /// Its pages are undone.
            case unwinding
            /// It doesn't go on before an operator says how.
            case parked
            /// It has come to its end with an output.
            case finished
            /// It has come to its end by undoing all that it had done.
            case unwound

            init(_ record: FlowRecord) {
                switch record.standing {
                case .open, .finishing: self = record.parking == nil ? .open : .parked
                case .unwinding: self = record.parking == nil ? .unwinding : .parked
                case .finished: self = .finished
                case .unwound: self = .unwound
                }
            }
        }

        /// The flow's path below the coordinator that provides the store.
        public let key: String
        /// The name of its coordinator's type.
        public let type: String
        /// The progress.
        public let status: Status
        /// The pages that are shown, bottom first.
        public let pages: [JSONValue]
        /// The latest failure, in words.
        public let error: String?
        /// The number of attempts that have failed at the page that is worked on.
        public let failures: Int
        /// The number of messages that haven't left, or whose end isn't known.
        public let outgoing: Int
        /// The time from which on the flow has something to do; `nil`: it waits.
        public let due: WallTime?
        /// The time of the latest change.
        public let changed: WallTime

        init(_ row: FlowRow) throws(CoordinatorError) {
            let record = try row.decoded()
            (key, type, status, pages) = (row.key, record.type, row.status, record.pages)
            let showing = record.work?.showing ?? record.showings.last { $0.error != nil }
            (error, failures) = (record.parking?.error ?? showing?.error, showing?.failures ?? 0)
            (outgoing, changed) = (record.outgoing.count, row.changed)
            // Work that is due has no time of its own.
            due = row.due.map { max($0, WallTime(nanoseconds: 0)) }
        }
    }

    /// Returns flows in the order of their keys.
    ///
    /// - Parameters:
    ///   - key: The key after which they begin; `nil`: from the first on.
    ///   - limit: The number of flows at most; 1,000 by default.
    /// - Throws: `storeInUse`, `storeCorrupt`.
    public func flows(after key: String? = nil, limit: Int = 1_000) async throws -> [Description] {
        _ = try await core.open()
        return try await core.storage.rows(after: key, limit: limit).map { row in try Description(row) }
    }

    /// Has the work of a flow that was parked, or waits for its next attempt, be tried again at once.
    ///
    /// The flow's coordinator is started if it doesn't live.
    ///
    /// - Parameter key: The flow's path below the coordinator that provides the store.
    /// - Throws: `noSuchChild`; what the start throws.
    public func retry(_ key: String) async throws { try await core.flow(key).operate { $0.retry(at: $1) } }

    /// Says that the page that is worked on has come to its end, outside of the flow: that it was performed, or undone.
    ///
    /// The flow then goes on with what is next, or waits with the page on top.
    ///
    /// - Throws: As `retry`.
    public func skip(_ key: String) async throws { try await core.flow(key).operate { $0.skip(FlowRecord.Change(), at: $1) } }

    /// Has a flow undo all that it has done.
    ///
    /// A page whose outcome isn't known is performed before that.
    ///
    /// - Parameters:
    ///   - key: The flow's path below the coordinator that provides the store.
    ///   - reason: The reason, which whoever waits for the flow gets.
    /// - Throws: As `retry`.
    public func cancel(_ key: String, because reason: String) async throws {
        try await core.flow(key).operate { record, now in
            record.retry(at: now)
            record.change(FlowRecord.Change([.unwind(because: reason)]), at: now)
        }
    }
}
