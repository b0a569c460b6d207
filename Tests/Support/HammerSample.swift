package import Diamond
import Foundation

/// An entry whose body is determined by its number, which is in its URL, and a version.
package struct HammerSample {
    package var number: Int

    package init(number: Int) { self.number = number }

    /// The size of the body, from nothing to several chunks.
    private var size: Int { [2, 100, 4000, 60_000, 131_073, 300_000][number % 6] }

    package func identity() throws -> (key: RequestKey, request: [UInt8]) {
        let form = try CanonicalForm(of: Request("http://h/\(number)"), rules: KeyRules())
        return (form.key, form.bytes)
    }

    package func entry(version: UInt8) throws -> CacheEntry {
        let (key, request) = try identity()
        let stored = StoredResponse(
            status: 200,
            headerBlock: Data("X-Version: \(version)\n".utf8),
            body: body(version),
            storedAt: WallTime.now,
            initialAge: 0,
            lifetime: number % 3 == 0 ? 1 : nil,
            flags: number % 2 == 0 ? .hasValidator : []
        )
        return CacheEntry(
            key: key,
            request: request,
            url: "http://h/\(number)",
            method: "GET",
            stored: stored,
            tags: ["tag\(number % 7)", "tag\(number % 50)"]
        )
    }

    /// Whether a response is whole, with the body and the header of one version.
    package func isSound(_ stored: StoredResponse) -> Bool {
        guard let version = stored.body.first else { return false }
        return stored.body == body(version) && stored.headerBlock == Data("X-Version: \(version)\n".utf8)
    }

    private func body(_ version: UInt8) -> Data {
        // 251 is prime: no two chunks are equal.
        let block = Data([version] + (1..<251).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number &+ Int(version)) })
        var body = Data(capacity: size + block.count)
        while body.count < size { body.append(block) }
        return body.prefix(size)
    }
}
