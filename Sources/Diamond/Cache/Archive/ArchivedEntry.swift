import Foundation
import HTTPTypes

/// An entry as a line of an archive has it: in clear, and without its body.
///
/// It has no key. The key is computed from the canonical form, so that an archive cannot put a response under the key
/// of another request.
package struct ArchivedEntry: Codable, Sendable {
    /// The canonical form of the request. That of a variant ends with the lines that select it.
    let form: Data
    let method: String
    let url: String
    let status: Int
    /// ``StoredResponse/headerBlock``.
    let headers: Data
    /// The time at which the response arrived or was last confirmed, in milliseconds since 1970.
    var storedAt: Int64
    /// Milliseconds, as ``lifetime`` and ``duration``.
    let initialAge: Int64
    let lifetime: Int64?
    let duration: Int64
    /// ``StoredResponse/Flags``.
    let flags: Int64
    /// ``CacheEntry/names``, without the name of the variants.
    let names: [String]
    /// The number of bytes of the body, before compression and sealing.
    package let bodySize: Int

    private enum CodingKeys: String, CodingKey {
        case form, method, url, status, headers, storedAt, initialAge, lifetime, duration, flags, names, bodySize
    }

    init(_ stored: StoredResponse, of request: Sealing.OpenedRequest, method: String, names: [String]) {
        form = Data(request.form)
        self.method = method
        url = request.url
        status = stored.status
        headers = stored.headerBlock
        storedAt = stored.storedAt.rawValue
        initialAge = stored.initialAge
        lifetime = stored.lifetime
        duration = stored.duration
        flags = stored.flags.intersection(Self.keptFlags).rawValue
        self.names = names
        bodySize = stored.bodySize
    }
}

// MARK: Reading

extension ArchivedEntry {
    /// The flags that do not depend on the form in which a store keeps a response.
    private static let keptFlags: StoredResponse.Flags = [
        .noCache, .hasValidator, .mustRevalidate, .invalidated, .pinned, .heuristic, .shared, .forAllUsers,
        .fixedCoding,
    ]
    private static let firstLine = Data("diamond 1\n".utf8)
    private static let variantMark = Data("\nvariants ".utf8)

    /// Whether it has only values that Diamond writes.
    package var isValid: Bool {
        (100...999).contains(status) && HTTPRequest.Method(method) != nil
            && [storedAt, initialAge, lifetime ?? 0, duration].allSatisfy(CacheTable.times.contains)
            && (0...CacheTable.largestBody).contains(bodySize)
            && form.starts(with: Self.firstLine) && form.last == UInt8(ascii: "\n")
    }

    /// The response without its body.
    var stored: StoredResponse {
        StoredResponse(
            status: status, headerBlock: headers, body: Data(), storedAt: WallTime(rawValue: storedAt),
            initialAge: initialAge, lifetime: lifetime, flags: .init(rawValue: flags).intersection(Self.keptFlags),
            duration: duration)
    }

    /// The canonical form of the request, without the lines that select a variant.
    var request: [UInt8] { Array(Self.request(in: form)) }

    /// The values that select the variant; `nil` if the key of the request identifies the response.
    var selection: VariantSelection? {
        // The first line has the generation of the other store's index.
        let lines = form[Self.request(in: form).endIndex...].drop { $0 != UInt8(ascii: "\n") }.dropFirst()
        return lines.isEmpty ? nil : VariantSelection(lines: Array(lines))
    }

    /// Returns the beginning of a canonical form, without the lines that select a variant.
    static func request(in form: Data) -> Data {
        form.firstRange(of: variantMark).map { form[...$0.lowerBound] } ?? form
    }

    /// The identity in the canonical form; `nil` for none.
    var identity: String? {
        lines.first { $0.hasPrefix("identity ") }.flatMap { String($0.dropFirst(9)).removingPercentEncoding }
    }

    /// Whether the canonical form has digests of credentials, which are different in a store with another secret.
    var hasDigests: Bool {
        lines.contains { line in
            let words = line.split(separator: " ")
            return line.hasPrefix("secret-")
                || words.count > 2 && words[0] == "vary" && KeyRules().isCredential("\(words[1])")
        }
    }

    private var lines: [Substring] { String(decoding: form, as: UTF8.self).split(separator: "\n") }
}

extension VariantSelection {
    /// The fields whose values it has; `nil` for none.
    var fields: VariantFields? {
        let lines = String(decoding: lines, as: UTF8.self).split(separator: "\n")
        return VariantFields(lines.map { $0.split(separator: " ") }.filter { $0.count > 1 }.map { String($0[1]) })
    }
}
