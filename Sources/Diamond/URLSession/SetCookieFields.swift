/// Fields of the name `Set-Cookie` that Foundation has joined by commas, which may stand in a date, too.
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

    /// Whether a token and a `=` stand there, as they do before nothing else that follows a comma.
    private static func beginsCookie(_ part: Substring) -> Bool {
        let name = part.drop { $0 == " " }.prefix { !"=; ".contains($0) }
        return !name.isEmpty && part[name.endIndex...].first == "="
    }
}
