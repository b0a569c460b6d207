import Diamond
import Foundation

extension Request {
    /// Moves the last items of the URL's query into `parameters`, as many as would be sent as the same bytes. A
    /// parameter's `,`, `:` or `+` is escaped, so an item that has one unescaped stays, and so do those before it.
    mutating func moveQueryIntoParameters() {
        let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        guard let mark = url.utf8[..<end].firstIndex(of: UInt8(ascii: "?")) else { return }
        let items = QueryItem.items(of: Array(url.utf8[url.utf8.index(after: mark)..<end]))
        let elements = items.reversed().prefix { !$0.text.isEmpty }.map(\.parameter).prefix { $0 != nil }
        guard !elements.isEmpty else { return }
        let kept = items.dropLast(elements.count).map { String(decoding: $0.text, as: UTF8.self) }
        let query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
        url = url[..<mark] + query + url[end...]
        parameters = Parameters(elements.reversed().compactMap(\.self))
        // The parameters stay in the query even if the method is changed later.
        destination = .query
    }
}

extension QueryItem {
    /// The parameter that is sent as the same bytes; `nil` if there is none.
    fileprivate var parameter: Parameters.Element? {
        guard let name = name.decoded, let value = value.decoded else { return nil }
        return Parameters.Element(name, hasValue ? .string(value) : .null)
    }
}

extension ArraySlice<UInt8> {
    /// The text whose percent-encoded form these bytes are; `nil` if that form differs from them.
    fileprivate var decoded: String? {
        guard let text = String(decoding: self, as: UTF8.self).removingPercentEncoding,
            PercentEncoding.encode(text.utf8).elementsEqual(self)
        else { return nil }
        return text
    }
}
