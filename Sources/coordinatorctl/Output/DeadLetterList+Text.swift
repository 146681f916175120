import Control

extension DeadLetterList {
    /// The letters as a table, each line ended by a newline, with the total when the list has only the latest.
    var text: String {
        guard count > 0 else { return "no dead letters\n" }
        let rows = letters.map { letter in [letter.name, letter.sender, letter.target, letter.reason].map(TextLayout.printable) }
        let table = TextLayout.table([["NAME", "SENDER", "TARGET", "REASON"]] + rows, [.left, .left, .left, .left])
        return letters.count < count ? table + "the latest \(letters.count) of \(count)\n" : table
    }
}
