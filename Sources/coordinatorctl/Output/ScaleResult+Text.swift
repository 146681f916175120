import Control

extension ScaleResult {
    /// A line for each instance that was added or removed, and `/web: 3 instances (before: 1)`.
    var text: String {
        let count = instances == 1 ? "1 instance" : "\(instances) instances"
        let summary = "\(TextLayout.printable(path)): \(count) (before: \(formerInstances))\n"
        return changes.map { $0.line + "\n" }.joined() + summary
    }
}
