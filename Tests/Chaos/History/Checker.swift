/// Decides from a history alone whether a run has kept the rules.
///
/// The checker knows neither the runtime nor the driver: it reads what the processes have written before they went on, and what the driver
/// has done and seen.
package struct Checker {
    /// The limits that a run must keep.
    package struct Limits: Sendable {
        /// The time in which a call must end while its whole route is there.
        package var resolution = Duration.seconds(5)
        /// The time in which a life that has become ready takes the place of the one beside it.
        package var handover = Duration.seconds(1)
        /// The growth of the supervisor's memory; `nil`: it isn't judged.
        package var memoryPercent: Double? = 5
        /// The growth of the number of its threads.
        ///
        /// A thread of Swift's pool, and one that waits for Dispatch's clock, are made when they're first needed.
        package var threads = 4

        /// Creates the limits.
        package init() {}
    }

    let records: [Record]
    let lives: Lives
    let limits: Limits
    var verdict = Verdict()

    /// Returns the verdict on a history.
    ///
    /// - Parameters:
    ///   - records: The records of all processes, in any order; those of one process in the order in which it has written them.
    ///   - limits: The limits.
    package static func verdict(on records: [Record], limits: Limits = Limits()) -> Verdict {
        var checker = Checker(records, limits)
        checker.checkLives()
        checker.checkMessages()
        checker.measureRecoveries()
        checker.countFaults()
        checker.countAdoptions()
        checker.checkResources()
        return checker.verdict
    }

    private init(_ records: [Record], _ limits: Limits) {
        // A stable order: records of one process with one time stay as they were written.
        self.records = records.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
        lives = Lives(self.records)
        self.limits = limits
    }

    // MARK: Lives

    /// Checks that each path lived once at a time, or twice where its lives overlap, and lives at the end, unless the run was ended.
    private mutating func checkLives() {
        for path in lives.paths {
            let all = lives.lives(of: path)
            for life in all where !life.isAlone && !life.overlaps {
                verdict.add(.livedTwice, "\(path): \(life.process) began while another process held the path's lock")
            }
            for (index, next) in all.enumerated() {
                // Beside a life that overlaps there is at most the one before it.
                let position = index - (next.overlaps ? 2 : 1)
                guard position >= 0, case let former = all[position], former.lastSign > next.begun else { continue }
                let time = Double(former.lastSign - next.begun) / 1e6
                verdict.add(.livedTwice, "\(path): \(former.process) lived \(time) ms after \(next.process) had begun")
            }
            if let last = all.last, !isThereAtEnd(last) {
                verdict.add(.notBack, "\(path): \(last.process), incarnation \(last.incarnation), isn't ready at the end of the run")
            }
        }
        for life in lives.lives(of: "/") where life.isGone && !life.faults.contains(where: { !$0.fault.isInterruption }) {
            verdict.add(.notBack, "the root's process \(life.process) has ended by itself")
        }
    }

    /// The time at which the driver has ended the run.
    private var endOfRun: Int64 {
        lives.lives(of: "/").lazy.flatMap(\.faults).first { $0.fault == .end }?.time ?? .max
    }

    private func isThereAtEnd(_ life: Lives.Life) -> Bool { life.ready != nil && life.down >= min(endOfRun, lives.end) }
}
