/// The text whose digest is a request's identity, version 1.
///
/// One fact a line, `TAG CONTENT`, in this order; no content holds a line feed, so that nothing can pass for anything
/// else:
///
/// ```
/// diamond 1                              the version
/// identity user-42                       on whose behalf, in place of the credentials; percent-encoded
/// cache-key cities                       a key of the app's own, in place of all below that is no credential
/// method GET                             HEAD counts as GET
/// origin https://api.example.com         lower case; the port unless it is the scheme's own
/// path /cities                           dot segments removed, percent-encoding in one form
/// query country=DE                       each item, sorted by name; equal names keep their order
/// secret-query token DIGEST              each secret parameter, keyed digest
/// header accept application/json         each selecting header, sorted by name; equal names keep their order
/// secret-header authorization DIGEST     each credential, keyed digest; the URL's user info is one
/// credential header a Bearer%20 token    each named secret: its place and prefix, and its name
/// type application/json                  the body's Content-Type, where there is a body
/// json {"a":1}                           a JSON body by RFC 8785 (secret-json and a digest with credentials), or
/// field a=1                              each item of a form, sorted like the query, or
/// part name=a 12 DIGEST                  each part of a multipart body, in order: its facts, length and SHA-256, or
/// bytes 12 DIGEST                        length and SHA-256 of anything else, files among it
/// ```
///
/// A name without a value (`?a`), an empty value (`?a=`) and an absent name are three different things; so are no body
/// and an empty one.
package struct CanonicalForm {
    package let bytes: [UInt8]

    package init(of request: borrowing Request, rules: borrowing KeyRules) throws(RequestError) {
        bytes = try Writer.form(of: try WireRequest.read(request), rules)
    }

    package init(of request: borrowing WireRequest, rules: borrowing KeyRules) throws(RequestError) {
        bytes = try Writer.form(of: request, rules)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var key: RequestKey { RequestKey(of: bytes) }
}
