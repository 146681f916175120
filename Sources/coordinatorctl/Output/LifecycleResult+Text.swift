import Control

extension LifecycleResult {
    /// One line: `/shop: active (pid 123, life 2)`, or `/job: inactive (started, and has ended: exited with code 0)`.
    var text: String {
        if let lastExit {
            let (path, state) = (TextLayout.printable(path), TextLayout.printable(state))
            return "\(path): \(state) (started, and has ended: \(TextLayout.printable(lastExit)))\n"
        }
        let process = pid.map { "pid \($0), " } ?? ""
        return "\(TextLayout.printable(path)): \(TextLayout.printable(state)) (\(process)life \(incarnation))\n"
    }
}
