import Foundation

/// The place after which a list goes on, opaque to clients.
///
/// It says where the last item stood and not how many came before, so that changes meanwhile do not shift the pages.
struct Cursor: Codable, Sendable {
    let order: String
    let position: CityPosition

    init(order: CityOrder, position: CityPosition) {
        self.order = order.text
        self.position = position
    }

    init?(_ text: String) {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard
            let data = Data(base64Encoded: base64 + padding),
            let cursor = try? JSONDecoder().decode(Cursor.self, from: data)
        else { return nil }
        self = cursor
    }

    /// Base64url without padding, which needs no escaping in a query.
    func text() throws -> String {
        try JSON.encode(self).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
