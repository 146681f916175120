extension LifecycleResult {
    /// One line: `/shop: active (pid 123, life 2)`.
    public var text: String {
        let process = pid.map { "pid \($0), " } ?? ""
        return "\(TextLayout.printable(path)): \(TextLayout.printable(state)) (\(process)life \(incarnation))\n"
    }
}
