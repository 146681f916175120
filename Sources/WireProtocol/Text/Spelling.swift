/// The suggestion in a message about an unknown name.
package enum Spelling {
    /// Returns the candidate that is most similar to `word`; nil when none is similar enough.
    package static func suggestion(for word: String, among candidates: [String]) -> String? {
        let best = candidates.map { (candidate: $0, distance: distance(normalised(word), normalised($0))) }.min {
            $0.distance < $1.distance
        }
        guard let best, best.distance <= max(1, best.candidate.utf8.count / 3) else { return nil }
        return best.candidate
    }

    /// Returns whether a word is one of others, however it's spelt.
    package static func isAny(_ word: String, of others: [String]) -> Bool {
        let word = normalised(word)
        return others.contains { normalised($0) == word }
    }

    /// Returns `did you mean …?`, or the list of all candidates.
    package static func hint(for word: String, among candidates: [String]) -> String {
        hint(suggestion(for: word, among: candidates), among: candidates)
    }

    /// Returns `did you mean …?` of a suggestion, or the list of all candidates.
    package static func hint(_ suggestion: String?, among candidates: [String]) -> String {
        if let suggestion { return "did you mean `\(suggestion)`?" }
        return "expected one of \(candidates.map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// Returns the word in the form that is compared: `one_for_one`, `OneForOne` and `one-for-one` count as the same.
    private static func normalised(_ word: String) -> [UInt8] {
        word.lowercased().utf8.prefix(64).filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }

    /// Returns the Levenshtein distance, which is computed one row at a time.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (byte == right[column] ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
