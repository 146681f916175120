import ConcurrencySupport
import Control
import ServiceLifecycle

/// What the console knows of the tree: its rows, its events and its figures of the last hour.
///
/// All browsers share it. It asks the daemon once a second while a browser follows the tree, and every ten seconds otherwise.
actor Feed: Service {
    /// A browser that follows the tree.
    private struct Viewer {
        var signal: AsyncStream<Void>.Continuation
        /// Ends the connection.
        var close: @Sendable () -> Void
        /// The time at which it last took a part of what is on its way to it; nil: it has taken everything.
        var taken: ContinuousClock.Instant?
    }

    /// How long a tick waits for what the kernel tells of processes.
    private static let longestLook = Duration.seconds(1)

    private let daemon: DaemonConnection
    private let maximumViewers: Int
    private let patience: Duration
    private var viewers: [UInt64: Viewer] = [:]
    private var nextViewer: UInt64 = 1
    private var hasEnded = false

    /// The name of this console's life: the ticks of another one have nothing to do with these.
    let epoch = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    private(set) var table = RowTable()
    private(set) var ring = EventRing()
    private var problem: ControlError?
    private var sampler = Sampler()
    private var processes = ProcessFigures()
    /// Whether a thread looks at them.
    private var isLooking = false
    /// The texts of this tick, by the tick that the reader has: readers in step share one.
    private var encoded: [UInt64?: String] = [:]
    /// The last event of the daemon that was seen.
    private var lastEvent: (number: UInt64, boot: String)?

    /// Creates the knowledge of a daemon.
    ///
    /// - Parameter patience: The time after which a browser is closed that takes nothing of what is on its way to it. The kernel takes some
    ///   megabytes of that at once, and then nothing until the browser has taken about one.
    init(_ daemon: DaemonConnection, maximumViewers: Int, patience: Duration = .seconds(60)) {
        self.daemon = daemon
        self.maximumViewers = maximumViewers
        self.patience = patience
    }

    /// The number of browsers that follow the tree.
    var viewerCount: Int { viewers.count }
    /// The reason for which the rows are old, or there are none; nil while the daemon answers.
    var complaint: String? { problem?.message ?? (table.tick > 0 ? nil : "the daemon hasn't answered yet") }

    /// Keeps the figures until the service is asked to stop.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await self.followTree() }
                group.addTask { await self.followEvents() }
                await group.waitForAll()
            }
        }
        hasEnded = true
        for viewer in viewers.values { viewer.signal.finish() }
    }

    // MARK: The tree

    private func followTree() async {
        while !Task.isCancelled {
            let now = ContinuousClock.now
            if !viewers.isEmpty || sampler.isPointDue(at: now) { await sample() }
            try? await Task.sleep(until: now + .seconds(1), clock: .continuous)
        }
    }

    private func sample() async {
        do throws(ControlError) {
            let answer = try await daemon.answer(to: .tree, atMost: .zero)
            let tree = try ControlJSON.decode(TreeNode.self, from: answer.value)
            let isPointDue = sampler.isPointDue(at: .now)
            await look(at: tree, isDue: isPointDue)
            table.update(sampler.rows(of: tree, figures: processes.byPath, former: table.rows))
            if isPointDue { sampler.addPoints(await askTimes(), figures: processes.byPath) }
            problem = nil
        } catch {
            problem = error
        }
        encoded = [:]
        for (id, viewer) in viewers {
            if let taken = viewer.taken, taken.duration(to: .now) > patience {
                viewer.close()
                viewer.signal.finish()
                viewers[id] = nil
            } else {
                viewer.signal.yield()
            }
        }
    }

    /// Looks at the processes of the tree, on a thread of its own: the kernel may take its time, and for as long as it does nothing else is looked at.
    private func look(at tree: TreeNode, isDue: Bool) async {
        guard !isLooking else { return }
        isLooking = true
        let (former, figures) = (processes, OneShot<ProcessFigures>())
        let hasThread = DetachedThread.run {
            var present = former
            present.look(at: tree, isDue: isDue)
            figures.settle(present)
        }
        guard hasThread else {
            isLooking = false
            return
        }
        if let present = await figures.value(before: .now + Self.longestLook) {
            (processes, isLooking) = (present, false)
        } else {
            Task { (processes, isLooking) = (await figures.value, false) }
        }
    }

    /// Asks for the times of asks; nil when the daemon doesn't tell them: one of an older version has no such operation.
    private func askTimes() async -> TreeMetrics? {
        guard let answer = try? await daemon.answer(to: .metrics, atMost: .seconds(1)) else { return nil }
        return try? ControlJSON.decode(TreeMetrics.self, from: answer.value)
    }

    /// Returns the figures of the last hour; those of the whole tree without a path, nil for a path that there isn't.
    func series(of path: String?) -> SeriesReport? { sampler.report(of: path) }

    // MARK: Events

    private func followEvents() async {
        while !Task.isCancelled {
            do throws(ControlError) {
                let query = EventQuery(after: lastEvent?.number, boot: lastEvent?.boot, follows: true)
                _ = try await daemon.connected().stream(.events(query)) { item throws(ControlError) in
                    self.apply(try ControlJSON.decode(ControlEvent.self, from: item))
                }
            } catch {}
            // The daemon has gone, or is being replaced.
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func apply(_ event: ControlEvent) {
        lastEvent = (event.number, event.boot)
        ring.append(event)
    }

    // MARK: Browsers

    /// Enters a browser.
    ///
    /// - Parameter close: a function that ends the browser's connection.
    /// - Returns: its number and a signal of each tick; nil when there are too many.
    func open(close: @escaping @Sendable () -> Void) -> (id: UInt64, ticks: AsyncStream<Void>)? {
        guard viewers.count < maximumViewers, !hasEnded else { return nil }
        let (ticks, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        defer { nextViewer += 1 }
        viewers[nextViewer] = Viewer(signal: signal, close: close, taken: ContinuousClock.now)
        signal.yield()
        return (nextViewer, ticks)
    }

    /// Forgets a browser.
    func leave(_ id: UInt64) { viewers.removeValue(forKey: id)?.signal.finish() }

    /// Notes that a browser has taken a part of what is on its way to it, or everything.
    func hasTaken(_ id: UInt64, all: Bool) { viewers[id]?.taken = all ? nil : ContinuousClock.now }

    /// Returns what a browser lacks as text of the event stream, which is on its way from now on, and moves its position.
    func news(for id: UInt64, _ position: inout StreamPosition) -> String {
        viewers[id]?.taken = ContinuousClock.now
        let changes = tableText(since: position.tick)
        let (entries, missed) = ring.after(position.sequence, limit: 500)
        (position.tick, position.sequence) = (table.tick, ring.last)
        var text = ""
        if !entries.isEmpty || missed > 0 {
            text = StreamText.event("events", EventMessage(missed: missed, events: entries))
        }
        // The position comes last: a browser that is cut off before gets both again.
        return text + "id: \(position.text(epoch: epoch))\n" + changes
    }

    private func tableText(since tick: UInt64?) -> String {
        if let text = encoded[tick] { return text }
        let changes = table.changes(since: tick)
        let message = TableMessage(
            now: Timestamp.nowMicroseconds / 1000,
            whole: changes.isWhole,
            rows: changes.rows,
            gone: changes.gone,
            problem: complaint
        )
        let text = StreamText.event("table", message)
        encoded[tick] = text
        return text
    }
}
