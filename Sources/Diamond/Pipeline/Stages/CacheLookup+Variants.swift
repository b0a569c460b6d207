import DiamondSQLite
import Foundation
import HTTPTypes

/// The selection of a variant (RFC 9111 section 4.1).
extension CacheLookup {
    /// The maximum number of entity tags of other variants that a request sends, and of their bytes.
    private static let tagLimit = 8
    private static let tagSize = 1024

    /// Returns the stored response that a request selects: the one under its key, or the most recent of the variants
    /// whose fields match.
    ///
    /// - Parameter find: returns what is stored under an identity.
    @inline(__always)
    func selected(
        by identity: ResolvedRequest.Identity,
        of wire: WireRequest,
        find: (ResolvedRequest.Identity) -> StoredCandidate?
    ) -> StoredCandidate? {
        guard let found = find(identity), found.response.isOf(kind) else { return nil }
        guard found.response.flags.contains(.variants) else {
            return isAcceptable(found.response, to: wire) ? found : nil
        }
        return variant(in: found.response, by: identity, of: wire, find: find)
    }

    private func variant(
        in stored: StoredResponse,
        by identity: ResolvedRequest.Identity,
        of wire: WireRequest,
        find: (ResolvedRequest.Identity) -> StoredCandidate?
    ) -> StoredCandidate? {
        guard let index = VariantIndex(stored) else { return nil }
        let variants = Variants(of: identity, wire, rules: rules)
        let found = index.sets.compactMap { fields in
            let selection = variants.selection(by: fields)
            if let confirmation = index.confirmation(of: selection),
                let confirmed = find(variants.identity(of: confirmation.variant, in: index)),
                confirmed.response.headers.validator(.eTag).isExactly(confirmation.tag)
            {
                return confirmed
            }
            return find(variants.identity(of: selection, in: index))
        }
        return found.filter { $0.response.isOf(kind) && isAcceptable($0.response, to: wire) }
            .max { $0.response.originTime < $1.response.originTime }
    }

    /// Whether a client accepts the coding of a stored body, as far as the cache has to know: a server whose `Vary`
    /// names `Accept-Encoding` has decided that for the client. A client that names no codings gets the coding if the
    /// server has sent it unasked.
    func isAcceptable(_ stored: StoredResponse, to wire: WireRequest) -> Bool {
        guard isGateway else { return true }
        guard !stored.flags.contains(.fixedCoding) || wire.headers.contains(.acceptEncoding) else { return true }
        let headers = stored.headers
        return !headers.isCoded || wire.headers.accepts(codingOf: headers)
            || headers[values: .vary].flatMap(\.listElements).contains("accept-encoding")
    }

    /// Returns the lines by which a request selects among the variants under its key; none if there are no variants.
    func selection(of context: RequestContext) -> [String] {
        guard let identity = context.identity, let index = index(under: identity, isRead: false) else { return [] }
        let variants = Variants(of: identity, context.wire, rules: rules)
        let lines = index.sets.flatMap { variants.selection(by: $0).lines.split(separator: UInt8(ascii: "\n")) }
        return Set(lines.map { String(decoding: $0, as: UTF8.self) }).sorted()
    }

    // MARK: Validators

    /// Returns the other variants of a request whose entity tags are sent, too (section 4.3.1), the most recent first.
    /// The server may confirm one of them for the request.
    ///
    /// - Parameter selected: the stored response that the request selects; `nil` if there is none.
    func otherVariants(of context: RequestContext, besides selected: StoredCandidate?) -> [StoredCandidate] {
        // A response under the request's own key leaves no place for an index, and its body is not read to find one.
        guard let identity = context.identity, selected?.identity.key != identity.key,
            context.policy.mode != .reload, mayNameOthers(selected),
            let index = index(under: identity, isRead: context.caller.sink == nil), !index.variants.isEmpty
        else { return [] }
        var size = 0
        let selectedTag = selected?.response.headers.validator(.eTag)
        let tagged = Variants(of: identity, context.wire, rules: rules).listed(in: index)
            .filter { $0.key != selected?.identity.key }
            .compactMap(head)
            .filter { $0.response.isOf(kind) && (200..<300).contains($0.response.status) }
            // By a weak tag, a server may confirm a coding that the client does not accept.
            .filter { context.wire.headers.accepts(codingOf: $0.response.headers) }
            .sorted { $0.response.originTime > $1.response.originTime }
            .filter { variant in
                guard let tag = variant.response.headers.validator(.eTag), size + tag.utf8.count <= Self.tagSize,
                    selectedTag.map({ !EntityTag.match($0, tag) }) ?? true
                else { return false }
                size += tag.utf8.count
                return true
            }
        return Array(tagged.prefix(Self.tagLimit))
    }

    /// Returns the index of the variants under a key; `nil` if there is none.
    ///
    /// - Parameter isRead: whether a lookup has just read it into memory, if it is on disk.
    private func index(under identity: ResolvedRequest.Identity, isRead: Bool) -> VariantIndex? {
        let stored =
            isRead
            ? cache?.peek(identity.key, request: identity.canonicalForm) : cache?.find(identity, for: kind)
        return stored.flatMap { $0.isOf(kind) ? VariantIndex($0) : nil }
    }

    /// Returns a stored response without its body, and the reader of the body. Only the variant that the server
    /// confirms is read.
    private func head(under identity: ResolvedRequest.Identity) -> StoredCandidate? {
        do throws(CacheError) {
            let reader = try cache?.bodyReader(
                identity.key, request: identity.canonicalForm, url: identity.knownURL)
            return reader.map { StoredCandidate($0.stored, of: identity, reader: .some($0)) }
        } catch {
            report(error)
            return nil
        }
    }

    /// Returns a stored response with its body, unless the caller has a sink for it.
    ///
    /// - Throws: an error if the body cannot be read any more.
    func readingBody(of candidate: StoredCandidate, for context: RequestContext) throws(CacheError) -> StoredCandidate {
        guard context.caller.sink == nil, let reader = candidate.reader.value else { return candidate }
        var read = candidate.response
        read.sizeElsewhere = 0
        read.body = try reader.rest()
        return StoredCandidate(read, of: candidate.identity)
    }

    /// Whether entity tags of others may be sent together with the validators of the selected response. A server that
    /// gets tags does not evaluate a date (RFC 9110 section 13.2.2).
    private func mayNameOthers(_ selected: StoredCandidate?) -> Bool {
        guard let headers = selected?.response.headers else { return true }
        return headers.validator(.eTag) != nil || headers.validator(.lastModified) == nil
    }
}
