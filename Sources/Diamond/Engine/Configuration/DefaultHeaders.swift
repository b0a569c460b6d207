import Foundation
import HTTPTypes

/// The default headers, which describe the user and the program, for engines whose configuration sets none.
enum DefaultHeaders {
    static var platform: HTTPFields {
        var headers: HTTPFields = [.userAgent: userAgent]
        if let languages = acceptLanguage(preferredLanguages) { headers[.acceptLanguage] = languages }
        return headers
    }

    // MARK: Accept-Language

    /// Returns an `Accept-Language` value with up to six languages, each a tenth less preferred than the one before
    /// (RFC 9110 section 12.5.4).
    ///
    /// - Parameter languages: tags such as `de-CH` (BCP 47). Invalid ones are ignored.
    /// - Returns: the value; `nil` if there is no valid tag.
    static func acceptLanguage(_ languages: [String]) -> String? {
        var known: Set<String> = []
        let tags = languages.filter { isTag($0) && known.insert($0.lowercased()).inserted }.prefix(6)
        let ranges = tags.enumerated().map { $0 == 0 ? $1 : "\($1);q=0.\(10 - $0)" }
        return ranges.isEmpty ? nil : ranges.joined(separator: ", ")
    }

    /// Returns whether a text is a language range (RFC 4647 section 2.1).
    private static func isTag(_ text: String) -> Bool {
        text.wholeMatch(of: #/[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*/#) != nil
    }

    private static var preferredLanguages: [String] {
        #if canImport(Darwin)
        Locale.preferredLanguages
        #else
        // Foundation always returns "en-001" here.
        languages(of: ProcessInfo.processInfo.environment)
        #endif
    }

    /// Returns the languages that an environment names: in `LC_ALL`, `LC_MESSAGES` or `LANG` (POSIX, XBD section 8.2),
    /// and, if one of these names a language, in the list of `LANGUAGE` (GNU gettext manual, section 2.3.3).
    static func languages(of environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let locale, let language = tag(of: locale) else { return [] }
        let list = environment["LANGUAGE"]?.split(separator: ":").compactMap(tag) ?? []
        return list.isEmpty ? [language] : list
    }

    /// Returns the language tag of a locale, such as `de-CH` for `de_CH.UTF-8@euro`; `nil` for a locale without a
    /// language.
    private static func tag(of locale: some StringProtocol) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        return ["", "C", "POSIX"].contains(name) ? nil : String(name).replacing("_", with: "-")
    }

    // MARK: User-Agent

    private static var userAgent: String {
        let info = Bundle.main.infoDictionary ?? [:]
        let name = info["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName
        return userAgent(name, version: info["CFBundleShortVersionString"] as? String)
    }

    /// Returns the `User-Agent` of a program (RFC 9110 section 10.1.5).
    static func userAgent(_ name: String, version: String?) -> String {
        let name = token(name)
        let version = version.map(token) ?? ""
        return name.isEmpty ? "Diamond" : name + (version.isEmpty ? "" : "/" + version) + " Diamond"
    }

    /// Returns a text as a token, with `-` in place of characters that a token may not have (RFC 9110 section 5.6.2).
    private static func token(_ text: String) -> String {
        let parts = text.unicodeScalars.split { !$0.isASCII || !isTokenByte(UInt8(truncatingIfNeeded: $0.value)) }
        return parts.map { String($0) }.joined(separator: "-")
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        "!#$%&'*+-.^_`|~".utf8.contains(byte) || Character(Unicode.Scalar(byte)).isLetter
            || Character(Unicode.Scalar(byte)).isNumber
    }
}
