public import WireProtocol

/// Durable flows of the tree.
public struct FlowList: Codable, Hashable, Sendable {
    /// A durable flow.
    public struct Entry: Codable, Hashable, Sendable {
        /// The path of the flow's coordinator, which needn't live.
        public var path: String
        /// The name of the coordinator's type.
        public var type: String
        /// The progress: `open`, `unwinding`, `parked`, `finished` or `unwound`.
        public var status: String
        /// The pages that are shown, bottom first.
        public var pages: [JSONValue]
        /// The number of the page that is worked on, or would be if the flow weren't parked, among all that it has shown; nil: none.
        public var pageNumber: UInt64?
        /// The latest error of the flow's work; nil when there is none.
        public var error: String?
        /// The number of attempts that have failed at the page that is worked on.
        public var failures: Int
        /// The number of messages that haven't left, or whose end isn't known.
        public var outgoing: Int
        /// The time from which on the flow has something to do, as in ``LogLine/time``; of work that goes on, the first time of all; nil when it
        /// waits.
        public var due: String?
        /// The time of the latest change.
        public var changed: String
        /// The flow's state; nil unless it was asked for.
        public var state: JSONValue?

        /// Creates the description of a flow.
        public init(
            path: String,
            type: String,
            status: String,
            pages: [JSONValue] = [],
            pageNumber: UInt64? = nil,
            error: String? = nil,
            failures: Int = 0,
            outgoing: Int = 0,
            due: String? = nil,
            changed: String,
            state: JSONValue? = nil
        ) {
            (self.path, self.type, self.status, self.pages, self.pageNumber, self.error) = (path, type, status, pages, pageNumber, error)
            (self.failures, self.outgoing, self.due, self.changed, self.state) = (failures, outgoing, due, changed, state)
        }

        private enum CodingKeys: String, CodingKey {
            case path, type, status, pages, error, failures, outgoing, due, changed, state
            case pageNumber = "page_number"
        }
    }

    /// The flows, in the order of their paths.
    public var flows: [Entry]
    /// The path after which there are more; nil: there are none.
    public var next: String?
    /// The paths of the processes that didn't answer, so that their flows are missing; nil: all have.
    public var unanswered: [String]?

    /// Creates a list.
    public init(flows: [Entry], next: String? = nil, unanswered: [String]? = nil) {
        (self.flows, self.next, self.unanswered) = (flows, next, unanswered)
    }
}
