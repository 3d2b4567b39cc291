-- Coroutines that pass a token around; a first in, first out queue resumes them.

local function whole_number(text)
    if text and #text <= 15 and text:match("^[0-9]+$") then
        return math.tointeger(tonumber(text, 10))
    end
end

local threads, hops = whole_number(arg[1]), whole_number(arg[2])
if #arg ~= 2 or not threads or threads < 1 or not hops then
    io.stderr:write("ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits\n")
    os.exit(2)
end

local tokens, ring = {}, {}
local ready, first, last = {}, 1, 0

local function wake(number)
    last = last + 1
    ready[last] = number
end

local function next_ready()
    local number = ready[first]
    ready[first] = nil
    first = first + 1
    return number
end

local function pass_on(number)
    local following = number % threads + 1
    while true do
        coroutine.yield()
        local token = tokens[number]
        if token == 0 then
            return number
        end
        tokens[following] = token - 1
        wake(following)
    end
end

for number = 1, threads do
    ring[number] = coroutine.create(pass_on)
    coroutine.resume(ring[number], number)
end

tokens[1] = hops
wake(1)
local answer
repeat
    local alive, result = coroutine.resume(ring[next_ready()])
    if not alive then
        error(result)
    end
    answer = result
until answer
print(answer)
