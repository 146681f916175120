import ConcurrencySupport
import Control
import Coordinators
import Logging
import Processes

/// What the daemon reports while it runs: that its children have been started, how they are, and that the daemon answers.
struct ServiceReports: Sendable {
    /// The time between two looks at the children.
    private static let interval = Duration.seconds(1)
    /// The time between two looks at children that are starting.
    private static let startInterval = Duration.milliseconds(50)
    /// The time that is asked for while children start.
    private static let startTime = Duration.seconds(30)

    private let notifier: ServiceNotifier
    private let children: ConfiguredChildren
    private let directory: RuntimeDirectory
    private let logger: Logger

    init(_ notifier: ServiceNotifier, _ children: ConfiguredChildren, _ directory: RuntimeDirectory, _ logger: Logger) {
        (self.notifier, self.children, self.directory, self.logger) = (notifier, children, directory, logger)
    }

    /// Reports until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.reportStart() }
            if notifier.isHeard, let watchdog = notifier.watchdog { group.addTask { await self.giveSigns(every: watchdog / 3) } }
        }
    }

    /// Reports readiness when each child has been ready, or has failed, for the first time; then the state of the children.
    private func reportStart() async {
        var asked: ContinuousClock.Instant?
        while case let starting = children.firstStarts(), !starting.isEmpty {
            if asked.map({ ContinuousClock.now - $0 > Self.startTime / 3 }) ?? true {
                asked = .now
                notifier.extendStart(
                    by: Self.startTime,
                    "starting \(starting.prefix(3).joined(separator: ", "))\(starting.count > 3 ? " and others" : "")"
                )
            }
            guard (try? await Task.sleep(for: Self.startInterval)) != nil else { return }
        }
        let summary = children.summary
        logger.notice("ready: each child has been started, or has failed", metadata: ["children": "\(summary)"])
        guard notifier.isHeard else { return }
        notifier.ready(summary)
        while (try? await Task.sleep(for: Self.interval)) != nil { notifier.status(children.summary) }
    }

    /// Gives signs of life as long as the daemon answers.
    private func giveSigns(every interval: Duration) async {
        repeat {
            if await answers(within: interval) { notifier.alive() }
        } while (try? await Task.sleep(for: interval)) != nil
    }

    /// Whether an operator would get an answer over the control socket, and the root takes messages.
    private func answers(within limit: Duration) async -> Bool {
        do throws(ControlError) {
            let client = try await ControlClient.connect(runtimeDirectory: directory, timeout: limit)
            defer { client.close() }
            _ = try await client.call(.ping, timeout: limit)
        } catch {
            // While an upgrade waits for open requests, each other one is refused: that is an answer too.
            guard error.code == .upgrading else { return false }
        }
        // A root that never answers ends the signs too.
        await children.supervisor?.answer()
        return true
    }
}
