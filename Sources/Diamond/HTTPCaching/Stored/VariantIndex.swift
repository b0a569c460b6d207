import Foundation
import HTTPTypes

/// The sets of fields that select among the stored variants of a key. The cache stores it under the key, in place of a
/// response; each variant has a key of its own.
struct VariantIndex: Equatable, Sendable {
    /// The greatest number of sets. If a resource varies by more, the oldest is dropped.
    static let limit = 4
    /// The largest number of listed variants, and of confirmed selections.
    static let listLimit = 16

    /// A selection for which the server has confirmed the variant of another one (RFC 9111 section 4.3.4).
    struct Confirmation: Equatable, Sendable {
        let selection: VariantSelection
        /// The selection that the variant is stored under.
        let variant: VariantSelection
        /// The entity tag that was confirmed. A variant that has another one now was replaced.
        let tag: String
    }

    /// A random number that the keys of its variants contain. If an index is erased, the next one has another number,
    /// so that no variant of the erased one is found.
    let generation: UInt64
    /// The newest first.
    private(set) var sets: [VariantFields]
    /// The selections of the variants whose validators a request for another variant sends, the newest first. A variant
    /// with a longer selection is not listed.
    private(set) var variants: [VariantSelection] = []
    /// The newest first.
    private(set) var confirmations: [Confirmation] = []

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

    /// Returns the index with a variant that has a response of its own. One that is listed already keeps its place, so
    /// that the index is not written again.
    func adding(variant selection: VariantSelection) -> VariantIndex {
        var index = self
        index.confirmations.removeAll { $0.selection == selection }
        guard selection.isListed, !index.variants.contains(selection) else { return index }
        index.variants = [selection] + index.variants.prefix(Self.listLimit - 1)
        return index
    }

    /// Returns the index with a confirmed selection.
    func adding(_ confirmation: Confirmation) -> VariantIndex {
        guard confirmation.selection.isListed, confirmation.variant.isListed else { return self }
        var index = self
        let others = confirmations.filter { $0.selection != confirmation.selection }
        index.confirmations = [confirmation] + others.prefix(Self.listLimit - 1)
        return index
    }

    /// Returns the confirmation of another variant for a selection.
    func confirmation(of selection: VariantSelection) -> Confirmation? {
        confirmations.first { $0.selection == selection }
    }

    /// Returns the lines of a variant: they follow the canonical form of the request.
    func lines(of selection: VariantSelection) -> [UInt8] { firstLine + selection.lines }

    /// The line with the generation, which all variants of the index have.
    var firstLine: [UInt8] { Array("variants \(String(generation, radix: 16))\n".utf8) }
}

// MARK: Stored form

extension VariantIndex {
    private static let generationName = "generation"
    private static let variantName = "variant"
    private static let confirmationName = "confirmation"

    /// Reads the stored form; `nil` if there is none.
    init?(_ stored: StoredResponse) {
        guard stored.flags.contains(.variants) else { return nil }
        let headers = stored.headers
        sets = headers[values: .vary].compactMap { VariantFields($0.listElements) }
        let number = headers.values(Self.generationName).first.flatMap { UInt64($0, radix: 16) }
        guard let number, !sets.isEmpty else { return nil }
        generation = number
        variants = headers.values(Self.variantName).map { VariantSelection(text: $0) }
        confirmations = headers.values(Self.confirmationName).compactMap { Confirmation($0) }
    }

    /// Returns the stored form.
    ///
    /// - Parameter now: the current time.
    func stored(at now: WallTime, kind: CacheKind) -> StoredResponse {
        var headers = HTTPFields(sets.map { HTTPField(name: .vary, value: $0.names.joined(separator: ", ")) })
        headers.add(String(generation, radix: 16), to: Self.generationName)
        for selection in variants { headers.add(selection.text, to: Self.variantName) }
        for confirmation in confirmations { headers.add(confirmation.text, to: Self.confirmationName) }
        return StoredResponse(
            status: 200, headerBlock: HeaderBlock.bytes(of: headers), body: Data(), storedAt: now, initialAge: 0,
            lifetime: nil, flags: kind == .shared ? [.variants, .shared] : .variants)
    }
}

extension VariantIndex.Confirmation {
    // Neither names nor percent-encoded values have an equals sign; a tag may.
    fileprivate var text: String { "\(selection.text)=\(variant.text)=\(tag)" }

    fileprivate init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3 else { return nil }
        self.init(
            selection: VariantSelection(text: parts[0]), variant: VariantSelection(text: parts[1]), tag: parts[2])
    }
}

extension HTTPFields {
    fileprivate func values(_ name: String) -> [String] { HTTPField.Name(name).map { self[values: $0] } ?? [] }

    fileprivate mutating func add(_ value: String, to name: String) {
        if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
    }
}
