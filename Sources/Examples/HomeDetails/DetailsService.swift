/// A source of the details of all items.
protocol DetailsService: Sendable {
    /// Returns the description of an item.
    func text(of item: Int) async throws -> String
}

/// A source of details in one language.
struct LocalizedDetails: DetailsService {
    private let introduction: String

    /// Opens the details of a language.
    ///
    /// - Throws: `UnknownLanguage`.
    init(language: String) throws(UnknownLanguage) {
        switch language {
        case "en": introduction = "all about item"
        case "de": introduction = "alles über Artikel"
        default: throw UnknownLanguage(language: language)
        }
    }

    func text(of item: Int) async throws -> String { "\(introduction) \(item)" }
}

/// An error that reports a language without details.
struct UnknownLanguage: Error, Codable, Equatable {
    var language: String
}
