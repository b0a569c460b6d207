extension JSONReader {
    /// Skips a value of any depth without recursion, and checks its syntax.
    mutating func skipValue() throws(JSONError) {
        var ends: [UInt8] = []
        repeat {
            if try !openContainer(&ends) { try closeContainers(&ends) }
        } while !ends.isEmpty
    }

    /// Reads a value or, of a container that is not empty, its beginning up to the first element.
    ///
    /// - Returns: Whether a container was opened, so that a value follows.
    private mutating func openContainer(_ ends: inout [UInt8]) throws(JSONError) -> Bool {
        guard let byte = peek, byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
            _ = try readValue()
            return false
        }
        let end = byte == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
        position += 1
        skipSpace()
        if consume(end) { return false }
        ends.append(end)
        if end == UInt8(ascii: "}") { _ = try readName() }
        return true
    }

    /// Reads what follows a value: the ends of containers, or a comma and the next name.
    private mutating func closeContainers(_ ends: inout [UInt8]) throws(JSONError) {
        while let end = ends.last {
            guard try readDelimiter(orEnd: end) else {
                if end == UInt8(ascii: "}") { _ = try readName() }
                return
            }
            ends.removeLast()
        }
    }
}
