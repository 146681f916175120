extension Checker {
    /// Compares what the supervisor has at the end with what it had before.
    mutating func checkResources() {
        var first: [ProcessLife: Record.Sample] = [:]
        var last: [ProcessLife: Record.Sample] = [:]
        var during: [ProcessLife: [(time: Int64, sample: Record.Sample)]] = [:]
        for record in records {
            switch record.event {
            case .sampled(let sample):
                switch sample.phase {
                case .before: first[record.process] = sample
                case .during: during[record.process, default: []].append((record.time, sample))
                case .after: last[record.process] = sample
                }
            case .left:
                verdict.leaks.processes += 1
                verdict.add(.leaked, "\(record.process), \(lives[record.process]?.path ?? "?"), lives although the run has ended")
            default: break
            }
        }
        // Only a supervisor that has lived through the storm can be compared with itself.
        if let process = last.keys.first(where: { first[$0] != nil }), let before = first[process], let after = last[process] {
            compare(before, after)
        } else if let after = last.values.first {
            verdict.leaks.zombies = after.zombies
        }
        let zombies = verdict.leaks.zombies
        if zombies > 0 { verdict.add(.leaked, "\(zombies) zombies are left") }
        verdict.samples = during.values.max { $0.count < $1.count } ?? []
        verdict.leaks.slopes = slopes(of: verdict.samples)
    }

    private mutating func compare(_ before: Record.Sample, _ after: Record.Sample) {
        verdict.leaks.descriptors = after.descriptors - before.descriptors
        verdict.leaks.threads = after.threads - before.threads
        verdict.leaks.zombies = after.zombies
        verdict.leaks.sockets = after.files - before.files
        verdict.leaks.memoryPercent = Double(after.kibibytes - before.kibibytes) / Double(max(before.kibibytes, 1)) * 100
        let leaks = verdict.leaks
        if leaks.descriptors > 0 { verdict.add(.leaked, "\(leaks.descriptors) descriptors more than before") }
        if leaks.threads > limits.threads { verdict.add(.leaked, "\(leaks.threads) threads more than before") }
        if leaks.sockets > 0 { verdict.add(.leaked, "\(leaks.sockets) files more than before in the runtime directory") }
        if let limit = limits.memoryPercent, leaks.memoryPercent > limit {
            verdict.add(.leaked, "\(before.kibibytes) KiB of memory became \(after.kibibytes)")
        }
    }

    private func slopes(of samples: [(time: Int64, sample: Record.Sample)]) -> Verdict.Slopes? {
        guard samples.count >= 10 else { return nil }
        func slope(_ value: (Record.Sample) -> Int) -> Double {
            let minutes = samples.map { Double($0.time - samples[0].time) / 60e9 }
            let values = samples.map { Double(value($0.sample)) }
            let count = Double(samples.count)
            let (meanTime, meanValue) = (minutes.reduce(0, +) / count, values.reduce(0, +) / count)
            let covariance = zip(minutes, values).reduce(0) { $0 + ($1.0 - meanTime) * ($1.1 - meanValue) }
            let variance = minutes.reduce(0) { $0 + ($1 - meanTime) * ($1 - meanTime) }
            return variance > 0 ? covariance / variance : 0
        }
        return Verdict.Slopes(kibibytes: slope(\.kibibytes), descriptors: slope(\.descriptors), threads: slope(\.threads))
    }
}
