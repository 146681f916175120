/// What is recorded in the whole tree.
package struct TelemetryConfiguration: Sendable, Hashable {
    /// The share of the traces that begin in the tree whose spans are recorded, from 0 to 1; `nil`: there are no spans.
    ///
    /// A message that has come with a trace follows that trace's own decision.
    package var sampling: Double?
    /// Whether the times of asks are counted.
    package var measures = false

    package init() {}

    package init(sampling: Double?, measures: Bool) { (self.sampling, self.measures) = (sampling.map { min(max($0, 0), 1) }, measures) }

    var isEmpty: Bool { self == TelemetryConfiguration() }
}

extension TelemetryConfiguration {
    /// The beginning of the names by which a process subscribes to what those below record.
    static let subscription = "coordinators.telemetry"

    /// The name of the subscription to this, `coordinators.telemetry spans=0.1 asks`.
    ///
    /// Each subscription takes the place of the former, and a process of a build that doesn't know its name ignores it.
    var subscription: String {
        Self.subscription + (sampling.map { " spans=\($0)" } ?? "") + (measures ? " asks" : "")
    }

    /// Reads the name of a subscription; what this build doesn't know in it is left out.
    init?(subscription name: String) {
        let words = name.split(separator: " ")
        guard words.first.map(String.init) == Self.subscription else { return nil }
        var sampling: Double?
        for word in words where word.hasPrefix("spans=") { sampling = Double(word.dropFirst(6)).flatMap { $0.isFinite ? $0 : nil } }
        self.init(sampling: sampling, measures: words.contains("asks"))
    }
}

/// What gets everything that is recorded in the tree, in the root's process.
package protocol TelemetryExporter: Sendable {
    /// What it wants to be recorded.
    var wish: TelemetryConfiguration { get }
    /// Takes spans, and the number of those that were left out before them; it's called where a message is handled, and returns at once.
    func export(_ spans: [MessageSpan], missed: UInt64)
    /// Exports the numbers of the tree from time to time until it's cancelled.
    func run(_ source: TelemetrySource) async
    /// Writes or sends what it has, at the end of the process, which waits a second at most.
    func flush(_ source: TelemetrySource) async
}

/// What the numbers of a tree are read from.
package struct TelemetrySource: Sendable {
    /// The times of asks since the tree was started.
    package let asks: @Sendable () -> AskDurations
    /// The number of messages and events that were dropped.
    package let deadLetters: @Sendable () -> UInt64
    /// Describes the tree.
    package let snapshot: @Sendable () async -> CoordinatorSnapshot?
}

extension TelemetrySource {
    /// - Parameter runtime: The runtime that describes the tree, as long as it lives.
    init(_ core: RuntimeCore, _ runtime: CoordinatorRuntime?) {
        asks = { core.telemetry.asks }
        deadLetters = { core.deadLetters.report.count }
        snapshot = { [weak runtime] in try? await runtime?.snapshot() }
    }
}

extension CoordinatorRuntime {
    /// The times of the asks of the tree since it was started, if they are counted.
    package var askDurations: AskDurations? { core.telemetry.wish.measures ? core.telemetry.asks : nil }

    /// Has the times of asks be counted from now on, in all processes of the tree.
    package func countAsks() {
        var wish = core.telemetry.wish
        guard !wish.measures else { return }
        wish.measures = true
        core.telemetry.set(wish)
    }
}
