import Foundation

/// The neighbors of a page as the `Link` field names them: https://www.rfc-editor.org/rfc/rfc8288.html
struct PageLinks: Sendable {
    let paging: Paging
    let total: Int
    /// The request's parameters, which the links repeat.
    let arguments: [Arguments.Argument]

    /// Nil for a page that was reached by cursor: its neighbors have no address.
    var field: String? {
        switch paging {
        case .offset(let offset, let limit): offsets(offset, limit)
        case .page(let page, let size): pages(page, size)
        case .cursor: nil
        }
    }

    private func offsets(_ offset: Int, _ limit: Int) -> String {
        let last = max(0, total - 1) / limit * limit
        return links(
            first: ["offset": 0, "limit": limit],
            previous: offset > 0 ? ["offset": max(0, offset - limit), "limit": limit] : nil,
            next: offset + limit < total ? ["offset": offset + limit, "limit": limit] : nil,
            last: ["offset": last, "limit": limit]
        )
    }

    private func pages(_ page: Int, _ size: Int) -> String {
        let last = max(0, total - 1) / size + 1
        return links(
            first: ["page": 1, "perPage": size],
            previous: page > 1 ? ["page": min(page - 1, last), "perPage": size] : nil,
            next: page < last ? ["page": page + 1, "perPage": size] : nil,
            last: ["page": last, "perPage": size]
        )
    }

    private func links(
        first: [String: Int],
        previous: [String: Int]?,
        next: [String: Int]?,
        last: [String: Int]
    ) -> String {
        [("first", first), ("prev", previous), ("next", next), ("last", last)]
            .compactMap { name, place in place.map { "<\(target($0))>; rel=\"\(name)\"" } }
            .joined(separator: ", ")
    }

    private func target(_ place: [String: Int]) -> String {
        let kept = arguments.filter { !Paging.parameters.contains($0.name) }
        let pairs = kept.map { ($0.name, $0.value ?? "") } + place.sorted { $0.key < $1.key }.map { ($0, "\($1)") }
        return "/cities?" + pairs.map { "\(Self.escaped($0))=\(Self.escaped($1))" }.joined(separator: "&")
    }

    private static func escaped(_ text: String) -> String {
        // Only unreserved characters stay: a plus sign or an ampersand would be read as something else.
        let unreserved = CharacterSet(charactersIn: "-._~")
            .union(CharacterSet(charactersIn: "0"..."9"))
            .union(CharacterSet(charactersIn: "A"..."Z"))
            .union(CharacterSet(charactersIn: "a"..."z"))
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}
