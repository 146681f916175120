import Coordinators
import Fixtures

enum Cart {
    /// `Cart.Add` in the next build, without the coupon, with a count and a gift.
    struct AddItem: ResponderMessage {
        typealias Reply = Receipt
        typealias Failure = IsFull
        var sku: String
        var coupon: String?
    }

    /// In the next build without the points, with a currency.
    struct Receipt: Codable {
        var text: String
        var points: Int?
    }

    /// `Cart.Full` in the next build, with a hint.
    struct IsFull: ResponderError, Hashable { var limit: Int }

    /// In the next build there is a further method.
    struct Pay: ResponderMessage {
        typealias Reply = String
        enum Method: String, Codable { case cash, card }
        var method: Method
    }

    /// `Cart.Watch` in the next build.
    struct Follow: ResponderMessage { typealias Reply = String }

    /// `Cart.Note` in the next build.
    struct Remark: ResponderMessage { var text: String }
}

enum Basket {
    /// `Cart.Count` in the next build.
    struct Size: ResponderMessage { typealias Reply = Int }
}

extension Asker {
    /// Asks every message that this build knows.
    func askAll() async -> [String: String] {
        [
            "add": await outcome {
                let receipt = try await ask(Cart.AddItem(sku: "tea", coupon: "ten"))
                return "\(receipt.text), points \(receipt.points.map(String.init) ?? "none")"
            },
            "full": await outcome { try await ask(Cart.AddItem(sku: "full")).text },
            "closed": await outcome { try await ask(Cart.AddItem(sku: "closed")).text },
            "pay": await outcome { try await ask(Cart.Pay(method: .cash)) },
            "watch": await outcome { try await replies(to: Cart.Follow()).joined(separator: " ") },
            "note": await outcome { "\(try await isNoted(Cart.Remark(text: "hello")))" },
            "count": await outcome { "\(try await ask(Basket.Size()))" },
        ]
    }
}
