extension Checker {
    /// Measures the times from each kill until the path is ready again.
    ///
    /// A kill doesn't count when something else delayed what followed: another fault of the path until then, or a path above it that wasn't
    /// there all the time.
    mutating func measureRecoveries() {
        var times: [Record.Role: [Int64]] = [:]
        var upTimes: [String: [Range<Int64>]] = [:]
        for life in lives.all {
            let above = lives.ancestors(of: life.path)
            for path in above where upTimes[path] == nil { upTimes[path] = lives.upTimes(of: path) }
            for (time, fault) in life.faults where fault == .kill {
                guard let ready = recovery(of: life, from: time), !isHarmed(life.path, within: time..<ready) else { continue }
                let isSupervised = above.allSatisfy { path in
                    upTimes[path, default: []].contains { $0.lowerBound <= time && $0.upperBound >= ready }
                }
                if isSupervised { times[life.role, default: []].append(ready - time) }
            }
        }
        verdict.recoveriesByRole = times.mapValues { Verdict.Times(nanoseconds: $0) }
        // A daemon's next life is started by whoever supervises it: its time is shown apart.
        verdict.recoveries = Verdict.Times(nanoseconds: times.filter { $0.key != .root }.flatMap(\.value))
    }

    /// Returns the time at which the next life of a path was ready.
    private func recovery(of life: Lives.Life, from time: Int64) -> Int64? {
        lives.lives(of: life.path).lazy.compactMap { $0.process == life.process ? nil : $0.ready }.first { $0 > time }
    }

    private func isHarmed(_ path: String, within time: Range<Int64>) -> Bool {
        lives.lives(of: path).contains { life in
            life.faults.contains { $0.time > time.lowerBound && time.contains($0.time) }
                || life.interruptions.contains { $0.overlaps(time) }
        }
    }

    /// Counts, for each kind of fault and part of the tree, how often it was followed by a path that is there.
    mutating func countFaults() {
        for fault in Record.Fault.allCases where fault != .end {
            for role in [Record.Role.leaf, .sender, .parent, .root] {
                var row = Verdict.FaultRow(fault: fault, role: role)
                for life in lives.all where life.role == role {
                    for case (let time, fault) in life.faults {
                        row.injected += 1
                        if hasSurvived(fault, at: time, life) { row.survived += 1 }
                    }
                }
                if row.injected > 0 { verdict.faults.append(row) }
            }
        }
    }

    private func hasSurvived(_ fault: Record.Fault, at time: Int64, _ life: Lives.Life) -> Bool {
        if recovery(of: life, from: time) != nil { return true }
        // What was only held up may live on, and then says so.
        return fault.isInterruption && life.interruptions.contains { $0.lowerBound == time && life.lastSign > $0.upperBound }
    }

    /// Counts the lives below killed roots that went on under the next root, which is ready when it has adopted, ended and started all of its
    /// children.
    mutating func countAdoptions() {
        let roots = lives.lives(of: "/")
        for (root, next) in zip(roots, roots.dropFirst()) {
            guard let kill = root.faults.first(where: { $0.fault == .kill })?.time, let ready = next.ready else { continue }
            verdict.adoption.rootsKilled += 1
            for life in lives.all where life.path != "/" {
                guard let begin = life.ready, begin < kill, life.down > kill else { continue }
                if life.down > ready {
                    verdict.adoption.adopted += 1
                } else if !isEndedByDriver(life, within: kill..<ready) {
                    verdict.adoption.replaced += 1
                }
            }
        }
    }

    /// Returns whether the driver has ended a life, or one above it but the root's: such an end proves nothing.
    private func isEndedByDriver(_ life: Lives.Life, within time: Range<Int64>) -> Bool {
        (lives.ancestors(of: life.path).dropFirst() + [life.path]).contains { path in
            lives.lives(of: path).contains { life in
                life.faults.contains { !$0.fault.isInterruption && time.contains($0.time) }
            }
        }
    }
}
