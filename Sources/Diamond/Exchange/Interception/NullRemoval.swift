import Foundation
import HTTPTypes

/// Removes members that are `null` from JSON, at any depth, before it is decoded. Use it for servers that write `null`
/// for missing values, and models whose properties have defaults (AFNetworking's `removesKeysWithNullValues`).
///
/// ```swift
/// configuration.interceptors = [ResponseValidator.json, NullRemoval()]
/// ```
///
/// A `null` in an array stays, because its removal would move the other elements. The rest of the text stays the same,
/// except for white space. If `Content-Type` names another charset than UTF-8, body and field become UTF-8. A body that
/// is not JSON, by its `Content-Type` or its text, does not change. The stored response does not change either. The
/// cost is one pass over the body for each caller.
public struct NullRemoval: Interceptor, Hashable {
    /// Creates the interceptor, which has no settings.
    public init() {}

    public func transform(_ response: inout Response) async throws {
        guard MediaType(response.headers.single(.contentType)).isJSON else { return }
        let body = response.bodyInUTF8
        guard let bytes = NullRemover.removingNulls(from: body), bytes.count < body.count else { return }
        response.replaceBody(inUTF8: bytes)
    }
}
