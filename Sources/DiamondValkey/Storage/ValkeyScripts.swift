#if Valkey
/// The scripts. Each changes keys of one slot. They know the places in ``ValkeyRow``:
///
/// | bytes | value |
/// |---|---|
/// | 1–20, 21–40, 41–60 | the times stored, of the origin, and sent, in decimal digits |
/// | 61–80 | the version |
/// | 81–84 | the number of names |
/// | 85 | `r` for a response |
/// | 86–93 | the number of chunks in keys of their own |
/// | 94–109 | the name of the body |
/// | 110– | for each name 8 bytes of its hash, and its stamps in 16 |
///
/// The mark of an invalidation is a field of its own, with the record's name and `.s`.
enum ValkeyScripts {
    /// Stores a record, unless the stored one is newer, or is not the expected one, or a chunk of the body is missing.
    /// Removes the body of the replaced record.
    ///
    /// - Keys: the hash; then the keys of the chunks, whose expiry it sets.
    /// - Arguments: the field, the value, the milliseconds until it expires, whether it is marked stale (`1` or `0`);
    ///   the version that the stored one must have, or nothing; with a version, whether that may be marked stale; and
    ///   the number of fields beyond which a new record takes the place of the oldest response.
    /// - Returns: whether it was stored.
    static let store = """
        local old = redis.call('HGET', KEYS[1], ARGV[1])
        local value = ARGV[2]
        local function number(text, first) return tonumber(string.sub(text, first, first + 19)) end
        if ARGV[5] ~= '' then
          if not old or string.sub(old, 61, 80) ~= ARGV[5] then return 0 end
          if ARGV[6] == '0' and redis.call('HEXISTS', KEYS[1], ARGV[1] .. '.s') == 1 then return 0 end
        elseif old and number(old, 1) > number(value, 41) then
          local left, right = number(old, 21), number(value, 21)
          if left > right or left == right and number(old, 41) > number(value, 41) then return 0 end
        end
        local expiry = tonumber(ARGV[3])
        for i = 2, #KEYS do
          if redis.call('PEXPIRE', KEYS[i], expiry + 60000) == 0 then return 0 end
        end
        redis.call('HSET', KEYS[1], ARGV[1], value)
        if ARGV[4] == '1' then redis.call('HSET', KEYS[1], ARGV[1] .. '.s', '1')
        else redis.call('HDEL', KEYS[1], ARGV[1] .. '.s') end
        if redis.call('PTTL', KEYS[1]) < expiry then redis.call('PEXPIRE', KEYS[1], expiry) end
        local function removeBody(row)
          if string.sub(row, 94, 109) == string.sub(value, 94, 109) then return end
          local body = KEYS[1] .. ':' .. string.sub(row, 94, 109) .. ':'
          for chunk = 0, tonumber(string.sub(row, 86, 93)) - 1 do redis.call('UNLINK', body .. chunk) end
        end
        if old then removeBody(old)
        elseif redis.call('HLEN', KEYS[1]) > tonumber(ARGV[7]) then
          local oldest, row
          for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
            local other = #field == 64 and field ~= ARGV[1] and redis.call('HGET', KEYS[1], field)
            if other and string.sub(other, 85, 85) == 'r' and (not row or number(other, 1) < number(row, 1)) then
              oldest, row = field, other
            end
          end
          if row then
            redis.call('HDEL', KEYS[1], oldest, oldest .. '.s')
            removeBody(row)
          end
        end
        return 1
        """

    /// Marks or erases some records of a hash. A full server refuses marks: it erases these records.
    ///
    /// - Keys: the hash.
    /// - Arguments: `mark`, `erase` or `count`; a field or nothing; the hash of a name in eight bytes, or nothing; a
    ///   time before which a record was stored, or nothing.
    /// - Returns: the number of the changed or counted records, and that of the responses among them.
    static let change = """
        local records, responses = 0, 0
        for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
          if #field == 64 and (ARGV[2] == '' or field == ARGV[2]) then
            local value = redis.call('HGET', KEYS[1], field)
            local names = string.sub(value, 110, 109 + 24 * tonumber(string.sub(value, 81, 84)))
            if (ARGV[3] == '' or string.find(names, ARGV[3], 1, true))
              and (ARGV[4] == '' or tonumber(string.sub(value, 1, 20)) < tonumber(ARGV[4])) then
              local isNew = true
              local erases = ARGV[1] == 'erase'
              if ARGV[1] == 'mark' then
                local added = redis.pcall('HSET', KEYS[1], field .. '.s', '1')
                erases = type(added) == 'table'
                isNew = added ~= 0
              end
              if erases then
                redis.call('HDEL', KEYS[1], field, field .. '.s')
                local body = KEYS[1] .. ':' .. string.sub(value, 94, 109) .. ':'
                for chunk = 0, tonumber(string.sub(value, 86, 93)) - 1 do redis.call('UNLINK', body .. chunk) end
              end
              if isNew then
                records = records + 1
                if string.sub(value, 85, 85) == 'r' then responses = responses + 1 end
              end
            end
          end
        end
        return {records, responses}
        """

    /// Changes the stamp of a name to the server's time.
    ///
    /// - Keys: the stamp.
    /// - Arguments: `mark` or `erase`; the milliseconds until the stamp expires, or nothing.
    /// - Returns: the time in digits.
    static let stamp = """
        local time = redis.call('TIME')
        local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
        local text = string.format('%016.0f', now - now % 2)
        if ARGV[1] == 'mark' and redis.call('STRLEN', KEYS[1]) == 32 then
          redis.call('SETRANGE', KEYS[1], 16, text)
        elseif ARGV[2] == '' then redis.call('SET', KEYS[1], text .. text)
        else redis.call('SET', KEYS[1], text .. text, 'PX', ARGV[2]) end
        return text
        """

    /// Gives a name its first stamp.
    ///
    /// - Keys: the stamp.
    /// - Arguments: the stamp, the milliseconds until it expires, or nothing.
    /// - Returns: the stamp, which may be that of another process; `nil` if the key is of another program.
    static let newStamp = """
        if ARGV[2] == '' then redis.call('SET', KEYS[1], ARGV[1], 'NX')
        else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') end
        local stamp = redis.pcall('GET', KEYS[1])
        return type(stamp) == 'string' and stamp
        """

    /// Takes a lease, unless a process has it.
    ///
    /// - Keys: the lease.
    /// - Arguments: the token; the milliseconds until the lease expires.
    /// - Returns: whether it was taken: `OK` or `nil`.
    static let take = "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"

    /// Ends the lease with a token.
    ///
    /// - Keys: the lease.
    /// - Arguments: the token.
    static let end = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('UNLINK', KEYS[1])"

    /// Sends an announcement.
    ///
    /// - Keys: the channel.
    /// - Arguments: the message.
    static let announce = "return redis.call('PUBLISH', KEYS[1], ARGV[1])"
}
#endif
