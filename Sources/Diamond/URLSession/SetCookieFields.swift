/// A splitter of `Set-Cookie` fields that Foundation has joined with commas. Dates contain commas, too.
enum SetCookieFields {
    static func separated(_ joined: String) -> [String] {
        var fields: [Substring] = []
        for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
            if let last = fields.last, !beginsCookie(part) {
                fields[fields.count - 1] = joined[last.startIndex..<part.endIndex]
            } else {
                fields.append(part)
            }
        }
        return fields.map { String($0.drop { $0 == " " }) }
    }

    /// Whether a part begins with a token and a `=`. After a comma, only a cookie does.
    private static func beginsCookie(_ part: Substring) -> Bool {
        let name = part.drop { $0 == " " }.prefix { !"=; ".contains($0) }
        return !name.isEmpty && part[name.endIndex...].first == "="
    }
}
