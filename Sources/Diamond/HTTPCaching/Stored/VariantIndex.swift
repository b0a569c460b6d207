import Foundation
import HTTPTypes

/// The sets of fields that select among the stored variants of a key. The cache stores it under the key, in place of a response;
/// each variant has a key of its own.
struct VariantIndex: Equatable, Sendable {
    /// The greatest number of sets. If a resource varies by more, the oldest is dropped.
    static let limit = 4

    /// A random number that the keys of its variants contain. If an index is erased, the next one has another number,
    /// so that no variant of the erased one is found.
    let generation: UInt64
    /// The newest first.
    private(set) var sets: [VariantFields]

    init(_ fields: VariantFields, generation: UInt64) {
        self.generation = generation
        sets = [fields]
    }

    /// Returns the index with a set of fields as the newest.
    func adding(_ fields: VariantFields) -> VariantIndex {
        var index = self
        index.sets.removeAll { $0 == fields }
        index.sets.insert(fields, at: 0)
        index.sets = Array(index.sets.prefix(Self.limit))
        return index
    }

    /// Returns the lines that select a variant: they follow the canonical form of the request.
    func lines(for fields: VariantFields, of headers: HTTPFields, _ rules: KeyRules) -> [UInt8] {
        Array("variants \(String(generation, radix: 16))\n".utf8) + fields.lines(for: headers, rules)
    }
}

// MARK: Stored form

extension VariantIndex {
    private static let generationName = "generation"

    /// Reads the stored form; `nil` if there is none.
    init?(_ stored: StoredResponse) {
        guard stored.flags.contains(.variants) else { return nil }
        let headers = stored.headers
        sets = headers[values: .vary].compactMap { VariantFields($0.listElements) }
        let number = headers.first { $0.name.canonicalName == Self.generationName }.flatMap {
            UInt64($0.value, radix: 16)
        }
        guard let number, !sets.isEmpty else { return nil }
        generation = number
    }

    /// Returns the stored form.
    ///
    /// - Parameter now: milliseconds since 1970.
    func stored(at now: Int64, kind: CacheKind) -> StoredResponse {
        var headers = HTTPFields(sets.map { HTTPField(name: .vary, value: $0.names.joined(separator: ", ")) })
        if let name = HTTPField.Name(Self.generationName) { headers[name] = String(generation, radix: 16) }
        return StoredResponse(
            status: 200, headerBlock: HeaderBlock.bytes(of: headers), body: Data(), storedAt: now, initialAge: 0,
            lifetime: nil, flags: kind == .shared ? [.variants, .shared] : .variants)
    }
}
